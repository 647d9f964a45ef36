//! Runs a child process that cannot outstay its welcome: bounded in time, output, environment and descendants.
//!
//! What is guaranteed on Linux: the child leads its own process group; at a timeout or a cancel the
//! group gets `SIGTERM`, after the grace `SIGKILL`; so do descendants that left the group, found by
//! their parents and by a token in their environment, which survives a double fork. If this process
//! dies, even by `SIGKILL`, the child gets `SIGKILL` from the kernel. A child of a guarded [`DescendantPolicy`] takes
//! all its descendants with it, also then, and can leave a marker that tells how it ended. What is not: a
//! descendant that left the group **and** the family **and** cleared its environment is not found;
//! descendants of an unguarded child killed because this process died live on until [`sweep`] finds their
//! record, as do those of a guardian that was killed itself; a program that changes its user (set-id) escapes
//! all of it. On other Unix systems only the group is killed, the grace ends when the child itself exits, and
//! nothing reports the death of this process. On Windows the tree is killed by `taskkill /T`.

mod ancestry;
mod cancel;
mod capture;
mod child_environment;
mod child_files;
mod detach;
#[cfg(target_os = "linux")]
mod guardian;
mod launch;
mod marker;
mod observe;
mod outcome;
mod parents;
mod plain;
#[cfg(not(unix))]
mod portable;
mod record;
mod sandbox;
mod shield;
mod spec;
#[cfg(unix)]
mod supervise;
#[cfg(unix)]
mod tree;

pub use ancestry::{Ancestor, ancestors, is_at_terminal};
pub use cancel::{Canceller, Subscription};
pub use capture::{CaptureLimit, Captured};
pub use child_environment::is_passed_on;
pub use detach::start_detached;
pub use marker::{MarkedEnd, MarkedExit, ParentThen, is_marker_open, read_exit_marker};
pub use observe::{MAX_OBSERVED_PATHS, OnWrite, may_observe};
pub use outcome::{ChildEnd, ChildOutcome, StartCause, StartFailure};
pub use parents::{is_below_own_process, parent_programs};
pub use plain::{Child, ChildStdin, Command, Stdio, command, id};
pub use record::{SweepReport, sweep};
pub use sandbox::{ConfinementError, WriteConfinement};
pub use shield::shield_memory;
pub use spec::{ChildSpec, DescendantPolicy, Leftovers, OutputStream};
