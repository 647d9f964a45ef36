//! Sees which files a child and its descendants write, and never stands in their way.
//!
//! On Linux the child asks the kernel, just before it becomes its program, to tell us of every system call
//! that could change the tree of files (a seccomp filter with a listener). Each is let go on as soon as its
//! paths have been read. Whatever goes wrong with that, the child runs, and is then not observed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))
)))]
mod absent;
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))
))]
mod linux;

#[cfg(not(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))
)))]
pub(super) use absent::{AbsentFilter as ChildFilter, AbsentObserver as Observer, is_fault, is_possible, prepare};
#[cfg(all(
    target_os = "linux",
    target_pointer_width = "64",
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))
))]
pub(super) use linux::{SeccompFilter as ChildFilter, SeccompObserver as Observer, is_fault, is_possible, prepare};

/// The most paths that are remembered of one child.
pub const MAX_OBSERVED_PATHS: usize = 10_000;

/// Told of every path when it is first about to be written; see [`super::ChildSpec::on_write`].
pub type OnWrite = Arc<dyn Fn(&Path) + Send + Sync>;

/// Whether children can be observed here, as far as it is known without trying: a system may still forbid it, and
/// what is observed itself cannot observe. [`super::ChildOutcome::wrote`] tells what came of it.
pub fn may_observe() -> bool {
    is_possible()
}

/// Whether and how a child is observed.
#[derive(Clone, Default)]
pub(super) enum Observing {
    #[default]
    Off,
    Silent,
    #[allow(dead_code, reason = "it is read only where there is an observer")]
    Reporting(OnWrite),
}

/// What was seen of a child.
#[derive(Debug, Default)]
pub(super) struct ObservedWrites {
    pub(super) paths: Vec<PathBuf>,
    pub(super) has_more: bool,
}
