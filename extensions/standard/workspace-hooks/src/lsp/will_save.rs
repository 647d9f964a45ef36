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
pub(super) struct SaveEdits {
    /// The edits of those that were done in time.
    pub(super) edits: Value,
    /// The hooks that were not.
    pub(super) late: Vec<String>,
}

/// Runs the hooks one after another, each on what those before it made, and answers with the edits of those that were
/// done in time. One that fails or is late takes nothing from the others. Resolves when the runs are over, which have
/// their copy until then.
pub(super) async fn edits(
    document: DocumentToSave,
    runs: Arc<dyn Runs>,
    clock: Arc<dyn Clock>,
    answer: impl FnOnce(SaveEdits),
) {
    let nothing = || SaveEdits { edits: json!([]), late: Vec::new() };
    let notice = DocumentNotice::WillSave(document.uri.clone());
    let events = EventResolver::default().events(&notice, &document.workspaces);
    let Some(event) = events.into_iter().next() else { return answer(nothing()) };
    let mut hooks = hooks_before_saves(runs.as_ref(), &event).await.into_iter();
    if hooks.len() == 0 {
        return answer(nothing());
    }
    let Ok(copy) = ContentCopy::make(&document, &event) else { return answer(nothing()) };
    let (mut content, mut time) = (document.content.clone(), clock.sleep_ms(MAX_WAIT_MS));
    let mut late = Vec::new();
    for hook in hooks.by_ref() {
        let Some(run) = start(runs.as_ref(), &event, &hook, &copy).await else { continue };
        let in_time = match select(runs.wait(&run), time).await {
            Either::Left((ended, left)) => Some((ended, left)),
            Either::Right(_) => None,
        };
        let Some((ended, left)) = in_time else {
            late.push((hook, run));
            break;
        };
        content = copy.settle(ended.is_ok_and(|record| record.status == Status::Success), content);
        time = left;
    }
    // The rest runs all the same, and is named if the document concerns it.
    if !late.is_empty() {
        for hook in hooks {
            let run = start(runs.as_ref(), &event, &hook, &copy).await;
            late.extend(run.map(|run| (hook, run)));
        }
    }
    let edits = if content == document.content { json!([]) } else { json!([whole_edit(&document.content, &content)]) };
    answer(SaveEdits { edits, late: late.iter().map(|(hook, _)| hook.clone()).collect() });
    join_all(late.iter().map(|(_, run)| runs.wait(run))).await;
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

/// The hooks that run before a save, in the order in which they are declared.
async fn hooks_before_saves(runs: &dyn Runs, event: &Event) -> Vec<String> {
    let set = runs.refresh(&event.workspace).await.unwrap_or_default();
    set.hooks.iter().filter(|hook| hook.trigger == event.trigger).map(|hook| hook.id.clone()).collect()
}

/// Starts one hook, unless the document does not concern it.
async fn start(runs: &dyn Runs, event: &Event, hook: &str, copy: &ContentCopy) -> Option<RunId> {
    let mut event = Event { hook: Some(hook.to_owned()), ..event.clone() };
    event.metadata.insert(CONTENT_FILE.to_owned(), json!(copy.file));
    let receipts = runs.submit(event).await.unwrap_or_default();
    receipts.into_iter().find_map(|receipt| receipt.run)
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

    /// What is kept once a hook is done: what it made of the content, or the content as it was before.
    fn settle(&self, succeeded: bool, before: String) -> String {
        let made = read_text_at_most(&self.file, MAX_RESULT_BYTES).ok().filter(|_| succeeded);
        made.unwrap_or_else(|| {
            // A copy that cannot be written makes the next hook fail, which changes nothing either.
            let _ = files::write(&self.file, before.as_bytes());
            before
        })
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
