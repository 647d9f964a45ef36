//! The intent file on disk: created, read, and replaced under a lock without losing concurrent changes.

use std::path::Path;
use std::time::Duration;

use dispatch_os::files::{read_text_at_most, replace};
use dispatch_os::lock::{FileLock, LockKind};

use super::{IntentFileProblem, LIMIT_BYTES, LoadedIntents, parse};
use crate::error::IntentsError;
use crate::layout::OrchestrationLayout;
use crate::local_folder::create_local_folder;

/// The file as `create` writes it: an explanation and an example in comments.
pub(crate) const TEMPLATE: &str = include_str!("template.yaml");
const LOCK_NAME: &str = "intents.lock";
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The text of the file; `None` if it does not exist.
///
/// # Errors
/// When the file cannot be read as text.
pub(crate) fn read_text(layout: &OrchestrationLayout) -> Result<Option<String>, IntentsError> {
    match read_text_at_most(&layout.intents_file(), LIMIT_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Creates the file from the template, unless it exists. Returns whether it did.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn create(layout: &OrchestrationLayout) -> Result<bool, IntentsError> {
    create_local_folder(layout)?;
    let _lock = lock(layout)?;
    if read_text(layout)?.is_some() {
        return Ok(false);
    }
    replace(&layout.intents_file(), TEMPLATE.as_bytes())?;
    Ok(true)
}

/// Edits the file under its lock; an absent one starts as the template. Errors that the file already has do not
/// prevent the edit, but the edit must not add one.
///
/// # Errors
/// When the edit fails, or would add an error to the file.
pub(crate) fn update(
    layout: &OrchestrationLayout,
    edit: impl FnOnce(&str) -> Result<String, IntentsError>,
) -> Result<LoadedIntents, IntentsError> {
    create_local_folder(layout)?;
    let _lock = lock(layout)?;
    let before = read_text(layout)?;
    let text = before.as_deref().unwrap_or(TEMPLATE);
    let after = edit(text)?;
    write_checked(&layout.intents_file(), before.as_deref(), text, &after)
}

/// Replaces the file if it still holds `before`.
///
/// # Errors
/// When the file changed in the meantime, or the new content has errors that the old one did not have.
pub(crate) fn replace_checked(
    layout: &OrchestrationLayout,
    before: Option<&str>,
    after: &str,
) -> Result<LoadedIntents, IntentsError> {
    create_local_folder(layout)?;
    let _lock = lock(layout)?;
    if read_text(layout)?.as_deref() != before {
        return Err(IntentsError::Changed);
    }
    write_checked(&layout.intents_file(), before, before.unwrap_or_default(), after)
}

fn write_checked(path: &Path, before: Option<&str>, old: &str, after: &str) -> Result<LoadedIntents, IntentsError> {
    let loaded = parse(after);
    let known: Vec<String> = parse(old).problems.into_iter().map(|problem| problem.message).collect();
    let new = |problem: &IntentFileProblem| {
        problem.severity == super::ProblemSeverity::Error && !known.contains(&problem.message)
    };
    let wrong: Vec<IntentFileProblem> = loaded.problems.iter().filter(|problem| new(problem)).cloned().collect();
    if !wrong.is_empty() {
        return Err(IntentsError::Invalid(wrong));
    }
    if before != Some(after) {
        replace(path, after.as_bytes())?;
    }
    Ok(loaded)
}

fn lock(layout: &OrchestrationLayout) -> Result<FileLock, IntentsError> {
    Ok(FileLock::acquire(&layout.local_folder().join(LOCK_NAME), LockKind::Exclusive, LOCK_WAIT)?)
}
