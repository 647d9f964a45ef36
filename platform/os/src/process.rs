//! Runs a child process that cannot outstay its welcome: bounded in time, output, environment and descendants.
//!
//! What is guaranteed on Linux: the child leads its own process group; at a timeout or a cancel the
//! group gets `SIGTERM`, after the grace `SIGKILL`; so do descendants that left the group, found by
//! their parents and by a token in their environment, which survives a double fork. If this process
//! dies, even by `SIGKILL`, the child gets `SIGKILL` from the kernel. What is not: a descendant that
//! left the group **and** the family **and** cleared its environment is not found; descendants of a
//! child killed because this process died live on until [`sweep`] finds their record; a program that
//! changes its user (set-id) escapes both. On other Unix systems only the group is killed, the grace
//! ends when the child itself exits, and nothing reports the death of this process. On Windows the tree
//! is killed by `taskkill /T`.

mod cancel;
mod capture;
mod environment;
mod launch;
mod outcome;
#[cfg(not(unix))]
mod portable;
mod record;
mod spec;
#[cfg(unix)]
mod supervise;
#[cfg(unix)]
mod tree;

pub use cancel::{Canceller, Subscription};
pub use capture::{CaptureLimit, Captured};
pub use environment::is_passed_on;
pub use outcome::{End, Outcome, StartCause, StartFailure};
pub use record::{SweepReport, sweep};
pub use spec::{ChildSpec, Leftovers, OutputStream};
