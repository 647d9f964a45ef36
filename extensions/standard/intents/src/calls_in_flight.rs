//! The calls in flight: the files before each call, and which calls overlapped on the same file.

use std::path::PathBuf;
use std::time::Duration;

use dispatch_hook_module::HookEvent;
use dispatch_os::files::{self, read_at_most};
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_os::paths::safe_file_name;
use serde::{Deserialize, Serialize};

use crate::error::IntentsError;
use crate::hash::digits_of;
use crate::layout::OrchestrationLayout;
use crate::local_folder::create_local_folder;
use crate::working_tree::TreeSnapshot;

/// A call that began longer ago is treated as dead.
const MAX_AGE_MS: i64 = 15 * 60 * 1000;
const MAX_CALL_BYTES: u64 = 1024 * 1024;
const MAX_SNAPSHOT_BYTES: u64 = 64 * 1024 * 1024;
/// The lock is held for two small writes.
const LOCK_WAIT: Duration = Duration::from_millis(100);
/// More calls at once are not compared with each other.
const MAX_COMPARED: usize = 512;

/// A file when a call began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileBeforeCall {
    /// From the workspace's root.
    pub path: String,
    /// The hash of its content; `None` if the file did not exist or could not be read.
    pub hash: Option<String>,
    /// Why it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A call that has begun and not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CallInFlight {
    /// Its session.
    pub session: String,
    /// When it began, in Unix milliseconds.
    pub started_ms: i64,
    /// The length of the ledger then; unlike a clock it only grows.
    pub ledger_bytes: u64,
    /// The intent that was active then.
    pub intent: Option<String>,
    /// The files it names.
    pub files: Vec<FileBeforeCall>,
    /// Whether the whole tree is compared when it ends.
    pub compares_tree: bool,
    /// The name of its tool.
    #[serde(default)]
    pub tool: String,
    /// Its host.
    #[serde(default)]
    pub host: String,
    /// The host's id of it.
    #[serde(default)]
    pub tool_use_id: Option<String>,
    /// Whether it ended and may have left a process that goes on writing.
    #[serde(default)]
    pub background: bool,
}

/// A call that has ended, with what was recorded when it began.
#[derive(Debug)]
pub(crate) struct EndedCall {
    /// The record of its beginning.
    pub call: CallInFlight,
    /// The tree when it began.
    pub snapshot: Option<TreeSnapshot>,
    /// Files that overlapping calls of other sessions name.
    pub met: Vec<String>,
}

/// The key of a call: the host's id of it, else the tool and its input.
#[must_use]
pub(crate) fn key(session: &str, event: &HookEvent) -> String {
    let call = match event.tool_use_id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => id.to_owned(),
        None => format!("{} {}", event.tool_name.as_deref().unwrap_or_default(), event.tool_input),
    };
    format!("{}-{}", safe_file_name(session), digits_of(call.as_bytes()))
}

/// Records the beginning of a call and its overlaps with other calls.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn begin(
    layout: &OrchestrationLayout,
    key: &str,
    call: &CallInFlight,
    snapshot: Option<&TreeSnapshot>,
    now_ms: i64,
) -> Result<(), IntentsError> {
    create_local_folder(layout)?;
    let folder = layout.calls_folder();
    files::create_dir_all(&folder).map_err(|source| IntentsError::io("create", &folder, source))?;
    if let Some(snapshot) = snapshot {
        files::replace(&path(layout, key, "tree"), &serde_json::to_vec(snapshot)?)?;
    }
    files::replace(&path(layout, key, "json"), &serde_json::to_vec(call)?)?;
    // Written before reading the others, so of two calls that begin at once at least one sees the other.
    for (other_key, other) in in_flight(layout, now_ms) {
        if other.session == call.session {
            continue;
        }
        for file in call.files.iter().filter(|file| other.names(&file.path)) {
            for met in [key, other_key.as_str()] {
                files::append_line(&path(layout, met, "met"), file.path.as_bytes(), files::AppendOptions::default())?;
            }
        }
    }
    Ok(())
}

/// Whether a call is in flight.
#[must_use]
pub(crate) fn is_in_flight(layout: &OrchestrationLayout, key: &str) -> bool {
    files::exists(path(layout, key, "json"))
}

/// Ends a call; `None` if its beginning was not recorded.
#[must_use]
pub(crate) fn end(layout: &OrchestrationLayout, key: &str) -> Option<EndedCall> {
    let parts = |ending: &str, limit: u64| read_at_most(&path(layout, key, ending), limit).ok();
    let call = serde_json::from_slice(&parts("json", MAX_CALL_BYTES)?).ok();
    let snapshot = parts("tree", MAX_SNAPSHOT_BYTES).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let met = parts("met", MAX_CALL_BYTES).unwrap_or_default();
    let met = String::from_utf8_lossy(&met).lines().map(str::to_owned).collect();
    remove(layout, key);
    call.map(|call| EndedCall { call, snapshot, met })
}

/// The calls in flight that began not too long ago and have not ended, with their keys.
#[must_use]
pub(crate) fn in_flight(layout: &OrchestrationLayout, now_ms: i64) -> Vec<(String, CallInFlight)> {
    let mut found = open_calls(layout);
    found.retain(|(_, call)| now_ms - call.started_ms < MAX_AGE_MS && !call.background);
    found
}

/// Whether a call began so long ago that its end will not be reported.
#[must_use]
pub(crate) fn is_dead(call: &CallInFlight, now_ms: i64) -> bool {
    now_ms - call.started_ms >= MAX_AGE_MS
}

/// Every call whose end was not reported, and those that may have left a process, with their keys.
#[must_use]
pub(crate) fn open_calls(layout: &OrchestrationLayout) -> Vec<(String, CallInFlight)> {
    let mut found = Vec::new();
    for entry in files::read_dir(layout.calls_folder()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(key) = name.strip_suffix(".json") else {
            continue;
        };
        let call = read_at_most(&entry.path(), MAX_CALL_BYTES).ok();
        let call = call.and_then(|bytes| serde_json::from_slice::<CallInFlight>(&bytes).ok());
        found.extend(call.map(|call| (key.to_owned(), call)));
        if found.len() >= MAX_COMPARED {
            break;
        }
    }
    found
}

/// The tree when a call began or was last looked at.
#[must_use]
pub(crate) fn snapshot_of(layout: &OrchestrationLayout, key: &str) -> Option<TreeSnapshot> {
    let bytes = read_at_most(&path(layout, key, "tree"), MAX_SNAPSHOT_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Records how far the changes of a call are recorded, unless it ended meanwhile.
///
/// # Errors
/// When a file cannot be written, or the lock is busy.
pub(crate) fn keep_open(
    layout: &OrchestrationLayout,
    key: &str,
    call: &CallInFlight,
    snapshot: &TreeSnapshot,
) -> Result<(), IntentsError> {
    let _held = lock(layout)?;
    if is_in_flight(layout, key) { open(layout, key, call, snapshot) } else { Ok(()) }
}

/// Records a call that may have left a process.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn open(
    layout: &OrchestrationLayout,
    key: &str,
    call: &CallInFlight,
    snapshot: &TreeSnapshot,
) -> Result<(), IntentsError> {
    files::replace(&path(layout, key, "tree"), &serde_json::to_vec(snapshot)?)?;
    Ok(files::replace(&path(layout, key, "json"), &serde_json::to_vec(call)?)?)
}

/// Removes a call.
pub(crate) fn close(layout: &OrchestrationLayout, key: &str) {
    remove(layout, key);
}

impl CallInFlight {
    /// Whether it names a file.
    #[must_use]
    pub(crate) fn names(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }
}

/// Whoever looks at an open call writes it anew; without a lock that could bring back a call that ended meanwhile.
fn lock(layout: &OrchestrationLayout) -> Result<FileLock, IntentsError> {
    let path = layout.calls_folder().with_extension("lock");
    Ok(FileLock::acquire(&path, LockKind::Exclusive, LOCK_WAIT)?)
}

fn remove(layout: &OrchestrationLayout, key: &str) {
    let _held = lock(layout);
    for ending in ["json", "tree", "met"] {
        let _ = files::remove_file(path(layout, key, ending));
    }
}

fn path(layout: &OrchestrationLayout, key: &str, ending: &str) -> PathBuf {
    layout.calls_folder().join(format!("{key}.{ending}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const NOW_MS: i64 = 1_767_323_045_678;

    fn call(session: &str, paths: &[&str], started_ms: i64) -> CallInFlight {
        let before = |path: &&str| FileBeforeCall { path: (*path).to_owned(), hash: None, problem: None };
        let files = paths.iter().map(before).collect();
        CallInFlight {
            session: session.to_owned(),
            started_ms,
            ledger_bytes: 0,
            intent: None,
            files,
            compares_tree: false,
            tool: String::new(),
            host: String::new(),
            tool_use_id: None,
            background: false,
        }
    }

    #[test]
    fn calls_that_overlap_on_a_file_both_record_it() {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        begin(&layout, "a-1", &call("a", &["x", "y"], NOW_MS), None, NOW_MS).unwrap();
        begin(&layout, "b-1", &call("b", &["y", "z"], NOW_MS), None, NOW_MS).unwrap();
        begin(&layout, "a-2", &call("a", &["x"], NOW_MS), None, NOW_MS).unwrap();
        assert_eq!(end(&layout, "b-1").unwrap().met, ["y"]);
        assert_eq!(end(&layout, "a-1").unwrap().met, ["y"]);
        assert!(end(&layout, "a-2").unwrap().met.is_empty());
        assert!(end(&layout, "a-1").is_none());
        assert_eq!(fs::read_dir(layout.calls_folder()).unwrap().count(), 0);
    }

    #[test]
    fn dead_calls_overlap_with_none() {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        begin(&layout, "a-1", &call("a", &["x"], NOW_MS - MAX_AGE_MS - 1), None, NOW_MS).unwrap();
        begin(&layout, "b-1", &call("b", &["x"], NOW_MS), None, NOW_MS).unwrap();
        assert_eq!(in_flight(&layout, NOW_MS).len(), 1);
        assert!(end(&layout, "b-1").unwrap().met.is_empty());
        assert_eq!(open_calls(&layout).len(), 1);
    }
}
