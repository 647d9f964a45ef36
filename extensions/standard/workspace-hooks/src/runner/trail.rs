//! What the system can tell of a child beside its outcome: an end that survives us, and the files it wrote.

use dispatch_os::process::{MarkedEnd, ParentThen, read_exit_marker};
use dispatch_os::{ChildSpec, Outcome};
use std::path::Path;

/// How a program ended, as its guardian wrote it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Code(i32),
    Signal(i32),
}

/// Has the end of the child written to this file, so that it is known also if this process dies before.
pub(super) fn mark_exit(child: ChildSpec, marker: &Path) -> ChildSpec {
    // Of an earlier delivery of the same attempt, whose end nobody asked for.
    let _ = std::fs::remove_file(marker);
    if marker.parent().is_some_and(Path::is_dir) { child.exit_marker(marker) } else { child }
}

/// The end that such a file tells of; nothing if the child never got that far.
pub(super) fn ended(marker: &Path) -> Option<Exit> {
    let found = read_exit_marker(marker)?;
    match found.end {
        MarkedEnd::Exited { code: 0 } => Some(Exit::Code(0)),
        // A pipe that closed with its reader makes many programs fail, so such an end says nothing of the work.
        _ if found.parent == ParentThen::Dying => None,
        MarkedEnd::Exited { code } => Some(Exit::Code(code)),
        MarkedEnd::Signalled { signal } => Some(Exit::Signal(signal)),
    }
}

/// Has the writes of the child and its descendants observed.
pub(super) fn observe(child: ChildSpec) -> ChildSpec {
    child.observe_writes()
}

/// Files of the workspace that the child was seen to write, relative to it.
pub(super) fn written(outcome: &Outcome, workspace: &Path) -> Vec<String> {
    let below = outcome.wrote.iter().flatten().filter_map(|path| path.strip_prefix(workspace).ok());
    let name = |path: &Path| {
        let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        parts.join("/")
    };
    below.map(name).filter(|name| !name.is_empty()).collect()
}
