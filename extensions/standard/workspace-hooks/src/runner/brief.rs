//! The event as a run gets it: the JSON for programs and servers, and the names of its files.

use super::Attempt;
use crate::contract::{Change, FileChange, Trigger};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What started the run, in the words of the configuration.
pub(super) fn trigger_words(trigger: &Trigger) -> String {
    match trigger {
        Trigger::DidSave => "onDidSaveTextDocument".to_owned(),
        Trigger::WillSave => "onWillSaveTextDocument".to_owned(),
        Trigger::DidCreate => "onDidCreateFiles".to_owned(),
        Trigger::DidDelete => "onDidDeleteFiles".to_owned(),
        Trigger::DidRename => "onDidRenameFiles".to_owned(),
        Trigger::GitCommit => "gitCommit".to_owned(),
        Trigger::Git(hook) => format!("git:{hook}"),
        Trigger::Manual => "manual".to_owned(),
        Trigger::Schedule => "schedule".to_owned(),
        Trigger::Custom(name) => format!("custom:{name}"),
    }
}

/// The event, with paths where the run works. Nothing is taken out of it: a program needs real names.
pub(super) fn event(attempt: &Attempt<'_>) -> Value {
    let assignment = attempt.assignment;
    json!({
        "runId": assignment.run.0,
        "hookId": assignment.hook.id,
        "trigger": trigger_words(&assignment.hook.trigger),
        "workspaceRoot": attempt.folder.to_string_lossy(),
        "filePath": first_file(attempt).map(|path| path.to_string_lossy().into_owned()),
        "files": assignment.files.iter().map(file).collect::<Vec<Value>>(),
        "attempt": assignment.attempt,
        "metadata": assignment.metadata,
    })
}

/// The file that a run of one file is about, absolute.
pub(super) fn first_file(attempt: &Attempt<'_>) -> Option<PathBuf> {
    attempt.assignment.files.first().map(|file| below(&attempt.folder, &file.path))
}

/// A name with `/` between its parts as a path of this system.
pub(super) fn below(folder: &Path, name: &str) -> PathBuf {
    name.split('/').filter(|part| !part.is_empty()).fold(folder.to_path_buf(), |path, part| path.join(part))
}

fn file(change: &FileChange) -> Value {
    let mut fields = Map::new();
    fields.insert("path".to_owned(), change.path.clone().into());
    let kind = match &change.change {
        Change::Created => "created",
        Change::Changed => "changed",
        Change::Deleted => "deleted",
        Change::Renamed { from } => {
            fields.insert("from".to_owned(), from.clone().into());
            "renamed"
        }
    };
    fields.insert("kind".to_owned(), kind.into());
    fields.insert("contentHash".to_owned(), change.content_hash.clone().into());
    Value::Object(fields)
}
