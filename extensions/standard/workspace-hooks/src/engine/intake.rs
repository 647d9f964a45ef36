//! Turns an event and the hooks it starts into the runs that are wanted.

use super::arrival::sameness;
use super::redaction_policy::{RedactionPolicy, digest};
use super::submit::{RunOptions, WantedRun};
use crate::contract::{Event, FileChange, Hook, RunId, Source};
use crate::lsp::CONTENT_FILE;
use crate::run_store::BATCH_SUBJECT;
use dispatch_contracts::ports::Ids;

/// The runs that an event wants of one hook.
pub(crate) fn wanted(
    hook: &Hook,
    files: &[FileChange],
    event: &Event,
    redaction: &RedactionPolicy,
    ids: &dyn Ids,
) -> Vec<WantedRun> {
    let metadata = redaction.clean_map(hook, &event.metadata);
    let make = |files: &[FileChange], subject: Option<String>, debounce_ms: u64| {
        let id = RunId(ids.next_id());
        let content = subject.as_ref().and_then(|_| files.first()?.content_hash.clone());
        WantedRun {
            hook: hook.id.clone(),
            subject: subject.unwrap_or_else(|| format!("#{id}")),
            id,
            files: files.iter().map(|file| redaction.cover(hook, file)).collect(),
            metadata: metadata.clone(),
            content,
            paths: Vec::new(),
            sameness: sameness(&hook.trigger),
            debounce_ms,
            retry_of: None,
            options: RunOptions::of(hook),
        }
    };
    // What is about to be saved is in a copy of its own, whatever the file holds now.
    if event.metadata.contains_key(CONTENT_FILE) {
        return vec![make(files, None, 0)];
    }
    if hook.trigger.is_of_files() && !files.is_empty() {
        let debounce_ms = if event.source == Source::Person { 0 } else { hook.debounce_ms };
        if hook.batch {
            let mut batch = make(files, Some(BATCH_SUBJECT.to_owned()), debounce_ms);
            batch.content = None;
            batch.paths = files.iter().map(|file| digest(&file.path)).collect();
            return vec![batch];
        }
        let one = |file: &FileChange| make(std::slice::from_ref(file), Some(digest(&file.path)), debounce_ms);
        return files.iter().map(one).collect();
    }
    let subject = (event.source == Source::Schedule).then(String::new);
    vec![make(files, subject, 0)]
}
