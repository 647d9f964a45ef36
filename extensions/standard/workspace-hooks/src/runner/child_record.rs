//! What the system can tell of a child beside its outcome: an end that survives us, and the files it wrote.

use crate::contract::RunId;
use dispatch_os::files;
use dispatch_os::process::{MarkedEnd, ParentThen, is_marker_open, read_exit_marker};
use dispatch_os::{ChildOutcome, ChildSpec};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a program ended, as its guardian wrote it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkedExit {
    Code(i32),
    Signal(i32),
}

/// Has the end of the child written to this file, so that it is known also if this process dies before.
pub(super) fn mark_exit(child: ChildSpec, marker: &Path) -> ChildSpec {
    // Of an earlier delivery of the same attempt, whose end was not read.
    let _ = files::remove_file(marker);
    if marker.parent().is_some_and(files::is_dir) { child.exit_marker(marker) } else { child }
}

/// Whether such a file may still be written to.
pub(super) fn is_pending(marker: &Path) -> bool {
    is_marker_open(marker)
}

/// The end that such a file tells of; nothing if the child never got that far.
pub(super) fn ended(marker: &Path) -> Option<MarkedExit> {
    let found = read_exit_marker(marker)?;
    match found.end {
        MarkedEnd::Exited { code: 0 } => Some(MarkedExit::Code(0)),
        // A pipe that closed with its reader makes many programs fail, so such an end says nothing of the work.
        _ if found.parent == ParentThen::Dying => None,
        MarkedEnd::Exited { code } => Some(MarkedExit::Code(code)),
        MarkedEnd::Signalled { signal } => Some(MarkedExit::Signal(signal)),
    }
}

/// Has the writes of the child and its descendants observed, and told as they happen.
pub(super) fn observe(child: ChildSpec, workspace: &Path, writes: &ObservedWrites) -> ChildSpec {
    let (workspace, writes) = (workspace.to_owned(), writes.clone());
    child.on_write(Arc::new(move |path: &Path| writes.note(&workspace, path)))
}

/// Files of the workspace that the child was seen to write, relative to it.
pub(super) fn written(outcome: &ChildOutcome, workspace: &Path) -> Vec<String> {
    outcome.wrote.iter().flatten().filter_map(|path| name_below(workspace, path)).collect()
}

/// The name of a file, relative to the workspace; nothing for what is not below it.
pub(super) fn name_below(workspace: &Path, path: &Path) -> Option<String> {
    let path = path.strip_prefix(workspace).ok()?;
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// What one attempt was seen to write so far. Clones are the same writes.
#[derive(Clone, Default)]
pub(super) struct ObservedWrites {
    names: Arc<Mutex<BTreeSet<String>>>,
}

impl ObservedWrites {
    fn note(&self, workspace: &Path, path: &Path) {
        self.extend(name_below(workspace, path));
    }

    pub(super) fn extend(&self, names: impl IntoIterator<Item = String>) {
        lock(&self.names).extend(names);
    }

    fn names(&self) -> Vec<String> {
        lock(&self.names).iter().cloned().collect()
    }
}

/// The writes of the attempts that go, by run.
#[derive(Default)]
pub(super) struct ObservedWritesByRun {
    writes: Mutex<BTreeMap<RunId, (u32, ObservedWrites)>>,
}

impl ObservedWritesByRun {
    /// The writes of an attempt that begins.
    pub(super) fn begin(&self, run: &RunId, attempt: u32) -> ObservedWrites {
        let writes = ObservedWrites::default();
        lock(&self.writes).insert(run.clone(), (attempt, writes.clone()));
        writes
    }

    /// Forgets the writes of an attempt; that of the next one may have begun.
    pub(super) fn end(&self, run: &RunId, attempt: u32) {
        let mut writes = lock(&self.writes);
        if writes.get(run).is_some_and(|(latest, _)| *latest <= attempt) {
            writes.remove(run);
        }
    }

    pub(super) fn of(&self, run: &RunId) -> Vec<String> {
        let writes = lock(&self.writes).get(run).cloned();
        writes.map(|(_, writes)| writes.names()).unwrap_or_default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
