//! The event as a run gets it: the JSON for programs and servers, and the names of its files.

use super::RunAttempt;
use crate::contract::FileChange;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// The event, with paths where the run works. Nothing is taken out of it: a program needs real names.
pub(super) fn event(attempt: &RunAttempt<'_>) -> Value {
    let job = attempt.job;
    json!({
        "runId": job.run.0,
        "hookId": job.hook.id,
        "trigger": job.hook.trigger.to_string(),
        "workspaceRoot": attempt.folder.to_string_lossy(),
        "filePath": first_file(attempt).map(|path| path.to_string_lossy().into_owned()),
        "files": job.files.iter().map(file).collect::<Vec<Value>>(),
        "attempt": job.attempt,
        "metadata": facts(attempt),
    })
}

/// What the event says and what the author of the hook wrote down; where both do, the author counts.
fn facts(attempt: &RunAttempt<'_>) -> Map<String, Value> {
    let mut facts = attempt.job.metadata.clone();
    facts.extend(attempt.job.hook.metadata.clone());
    facts
}

/// The file that a run of one file is about, absolute.
pub(super) fn first_file(attempt: &RunAttempt<'_>) -> Option<PathBuf> {
    attempt.job.files.first().map(|file| below(&attempt.folder, &file.path))
}

/// A name with `/` between its parts as a path of this system.
pub(super) fn below(folder: &Path, name: &str) -> PathBuf {
    name.split('/').filter(|part| !part.is_empty()).fold(folder.to_path_buf(), |path, part| path.join(part))
}

/// A file as a record names it, with what became of it in `kind` and `from` as well.
fn file(file: &FileChange) -> Value {
    let change = json!(file.change);
    let mut fields = Map::new();
    fields.insert("path".to_owned(), file.path.clone().into());
    fields.extend(change.as_object().cloned().unwrap_or_default());
    fields.insert("change".to_owned(), change);
    fields.insert("contentHash".to_owned(), file.content_hash.clone().into());
    Value::Object(fields)
}
