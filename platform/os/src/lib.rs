//! The one place that touches the operating system, so that everything above it stays portable and testable.

pub mod alarm;
pub mod arena;
pub mod digest;
pub mod environment;
mod error;
pub mod exit;
pub mod files;
pub mod ids;
pub mod lock;
pub mod memory;
pub mod network;
pub mod owner;
pub mod paths;
pub mod process;
#[cfg(unix)]
pub mod start;
pub mod terminal;
pub mod threads;
pub mod time;

pub use error::OsError;
pub use files::{
    Access, AppendOptions, CompleteLines, Durability, LineAppender, ReplaceOptions, SymlinkPolicy, TailRepair,
};
pub use ids::{Ulid, UlidParseError, Uuid};
pub use lock::{FileLock, LockKind};
pub use paths::{Confined, ConfinedPath, Containment, PathStyle, ProjectMarker, ProjectRoot, ResolvedPath, UserDirs};
pub use process::{
    Canceller, CaptureLimit, Captured, ChildEnd, ChildOutcome, ChildSpec, ConfinementError, DescendantPolicy,
    Leftovers, OutputStream, StartCause, StartFailure, SweepReport, WriteConfinement,
};
pub use time::{Deadline, MonotonicWall};
