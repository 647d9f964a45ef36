//! Hooks that run before a document is saved: they get a copy of its content, and what they make of it is edited in.

use super::document_events::{DocumentNotice, EventResolver};
use super::wire::{PositionWire, RangeWire};
use crate::contract::{Event, RunId, Runs, Status};
use dispatch_contracts::ports::Clock;
use dispatch_os::files::{self, create_dir_owner_only, read_text_at_most};
use dispatch_os::time::wall_now;
use dispatch_os::{OsError, Ulid};
use futures_util::future::{Either, join_all, select};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where an event says which copy holds the content that is about to be saved.
pub(crate) const CONTENT_FILE: &str = "contentFile";
/// Neovim goes on without the edits after a second, others a little later.
const MAX_WAIT_MS: u64 = 900;
/// A copy that is older was left by a process that was killed.
const MAX_COPY_AGE: Duration = Duration::from_hours(24);
const FOLDER: &str = "will-save";
/// A larger result is not edited in.
const MAX_RESULT_BYTES: u64 = 16 * 1024 * 1024;

/// A document that is about to be saved.
pub(super) struct DocumentToSave {
    pub(super) uri: String,
    pub(super) content: String,
    pub(super) workspaces: Vec<PathBuf>,
    /// The user's folder for state.
    pub(super) state: PathBuf,
}

/// What came of the hooks before a save.
pub(super) enum SaveEdits {
    /// The edits that they made in time.
    InTime(Value),
    /// These hooks were not done in time.
    Late(Vec<String>),
}

/// Runs the hooks and answers with the edits that they made in time. Resolves when the runs are over, which have their
/// copy until then.
pub(super) async fn edits(
    document: DocumentToSave,
    runs: Arc<dyn Runs>,
    clock: Arc<dyn Clock>,
    answer: impl FnOnce(SaveEdits),
) {
    let nothing = || SaveEdits::InTime(json!([]));
    let notice = DocumentNotice::WillSave(document.uri.clone());
    let events = EventResolver::default().events(&notice, &document.workspaces);
    let Some(event) = events.into_iter().next() else { return answer(nothing()) };
    if !is_wanted(runs.as_ref(), &event).await {
        return answer(nothing());
    }
    let Ok(copy) = ContentCopy::make(&document, &event) else { return answer(nothing()) };
    let started = start(runs.as_ref(), event, &copy).await;
    let over = join_all(started.iter().map(|(_, run)| runs.wait(run)));
    match select(over, clock.sleep_ms(MAX_WAIT_MS)).await {
        Either::Left((ended, _)) if ended.iter().flatten().any(|record| record.status == Status::Success) => {
            let result = copy.text().filter(|result| *result != document.content);
            let edits = result.map_or_else(|| json!([]), |result| json!([whole_edit(&document.content, &result)]));
            answer(SaveEdits::InTime(edits));
        }
        Either::Left(_) => answer(nothing()),
        Either::Right(((), over)) => {
            answer(SaveEdits::Late(started.iter().map(|(hook, _)| hook.clone()).collect()));
            over.await;
        }
    }
}

/// Removes the copies that processes left which were killed.
pub(super) fn remove_old_copies(state: &Path) {
    let Ok(copies) = files::read_dir(state.join(FOLDER)) else { return };
    for copy in copies.flatten() {
        let modified = copy.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|at| wall_now().duration_since(at).ok());
        if age.is_some_and(|age| age > MAX_COPY_AGE) {
            // Whoever cannot remove it now tries again at the next start.
            let _ = files::remove_dir_all(copy.path());
        }
    }
}

/// Whether a hook wants to run before a save at all.
async fn is_wanted(runs: &dyn Runs, event: &Event) -> bool {
    let set = runs.refresh(&event.workspace).await;
    set.is_ok_and(|set| set.hooks.iter().any(|hook| hook.trigger == event.trigger))
}

/// The hooks that were started, and their runs.
async fn start(runs: &dyn Runs, mut event: Event, copy: &ContentCopy) -> Vec<(String, RunId)> {
    event.metadata.insert(CONTENT_FILE.to_owned(), json!(copy.file));
    let receipts = runs.submit(event).await.unwrap_or_default();
    receipts.into_iter().filter_map(|receipt| Some((receipt.hook_id, receipt.run?))).collect()
}

/// An edit that replaces a whole content by another.
fn whole_edit(before: &str, after: &str) -> Value {
    let lines = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX);
    let last = before.rsplit('\n').next().unwrap_or_default();
    let character = u32::try_from(last.encode_utf16().count()).unwrap_or(u32::MAX);
    let start = PositionWire { line: 0, character: 0 };
    let range = RangeWire { start, end: PositionWire { line: lines, character } };
    json!({ "range": range, "newText": after })
}

/// A file with the content, in a folder of its own, for the owner alone.
struct ContentCopy {
    folder: PathBuf,
    file: PathBuf,
}

impl ContentCopy {
    fn make(document: &DocumentToSave, event: &Event) -> Result<Self, OsError> {
        let folder = document.state.join(FOLDER).join(Ulid::generate().to_string());
        create_dir_owner_only(&folder)?;
        let name = event.files.first().and_then(|file| Path::new(&file.path).file_name().map(ToOwned::to_owned));
        let file = folder.join(name.unwrap_or_else(|| "document".into()));
        let io = |source| OsError::Io { action: "write", path: file.clone(), source };
        files::write(&file, document.content.as_bytes()).map_err(io)?;
        Ok(Self { folder, file })
    }

    fn text(&self) -> Option<String> {
        read_text_at_most(&self.file, MAX_RESULT_BYTES).ok()
    }
}

impl Drop for ContentCopy {
    fn drop(&mut self) {
        let _ = files::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_covers_the_whole_content_in_utf_16() {
        let edit = whole_edit("one\nzw\u{1f600}", "new");
        assert_eq!(edit["range"]["end"], json!({"line": 1, "character": 4}));
        assert_eq!(edit["range"]["start"], json!({"line": 0, "character": 0}));
        assert_eq!(whole_edit("", "x")["range"]["end"], json!({"line": 0, "character": 0}));
        assert_eq!(whole_edit("a\n", "x")["range"]["end"], json!({"line": 1, "character": 0}));
    }
}
