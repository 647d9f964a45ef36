//! What the system says about a path, in the few words that matter here.
//!
//! Pure.

use std::path::PathBuf;

/// One thing that was noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Observation {
    /// It was written, and whoever wrote is done.
    Written(PathBuf),
    /// Somebody writes to it.
    Writing(PathBuf),
    /// A folder was made.
    Folder(PathBuf),
    /// It has no longer this name.
    Gone(PathBuf),
    /// Something came here from elsewhere.
    Arrived(PathBuf),
    /// One name became another.
    Moved(PathBuf, PathBuf),
    /// Notices were lost: everything must be looked at.
    Lost,
    /// Nobody wants to know any more.
    Stop,
}
