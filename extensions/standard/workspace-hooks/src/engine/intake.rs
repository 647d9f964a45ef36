//! Turns an event and the hooks it starts into the runs that are wanted.

use super::arrival::sameness;
use super::discretion::{Discretion, digest};
use super::submit::Wanted;
use crate::contract::{Event, FileChange, Hook, RunId, Source, Trigger};
use dispatch_contracts::ports::Ids;

/// Whether a hook runs once for each file.
pub(crate) fn is_of_files(trigger: &Trigger) -> bool {
    use Trigger::{DidCreate, DidDelete, DidRename, DidSave, WillSave};
    matches!(trigger, DidSave | WillSave | DidCreate | DidDelete | DidRename)
}

/// The runs that an event wants of one hook.
pub(crate) fn wanted(
    hook: &Hook,
    files: &[FileChange],
    event: &Event,
    discretion: &Discretion,
    ids: &dyn Ids,
) -> Vec<Wanted> {
    let metadata = discretion.clean_map(hook, &event.metadata);
    let make = |files: &[FileChange], subject: Option<String>, debounce_ms: u64| {
        let id = RunId(ids.next_id());
        let content = subject.as_ref().and_then(|_| files.first()?.content_hash.clone());
        Wanted {
            hook: hook.id.clone(),
            subject: subject.unwrap_or_else(|| format!("#{id}")),
            id,
            files: files.iter().map(|file| discretion.cover(hook, file)).collect(),
            metadata: metadata.clone(),
            content,
            sameness: sameness(&hook.trigger),
            debounce_ms,
            retry_of: None,
        }
    };
    if is_of_files(&hook.trigger) && !files.is_empty() {
        let debounce_ms = if event.source == Source::Person { 0 } else { hook.debounce_ms };
        let one = |file: &FileChange| make(std::slice::from_ref(file), Some(digest(&file.path)), debounce_ms);
        return files.iter().map(one).collect();
    }
    let subject = (event.source == Source::Schedule).then(String::new);
    vec![make(files, subject, 0)]
}

/// A trigger in the words of the configuration.
pub(crate) fn word(trigger: &Trigger) -> String {
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
