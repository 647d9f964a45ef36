//! The process functions of `std::process`, for children that are the user's own, such as an editor.

use std::ffi::OsStr;
pub use std::process::{Child, ChildStdin, Command, Stdio};

/// A program to start without limits. [`super::ChildSpec`] bounds time, output, environment and descendants.
#[inline]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    Command::new(program)
}

/// The number of this process.
#[inline]
#[must_use]
pub fn id() -> u32 {
    std::process::id()
}
