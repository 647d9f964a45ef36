//! The file on disk: made, read, and replaced without losing what others wrote meanwhile.

use std::path::Path;
use std::time::Duration;

use dispatch_os::OsError;
use dispatch_os::files::{read_text_at_most, replace};
use dispatch_os::lock::{FileLock, LockKind};
use thiserror::Error;

use super::{EditError, LIMIT_BYTES, Loaded, Problem, parse};
use crate::error::IntentsError;
use crate::layout::Layout;
use crate::local::make_local_folder;

/// The file as `create` makes it: what it is for, and an example that does nothing.
pub const TEMPLATE: &str = include_str!("template.yaml");
const LOCK_NAME: &str = "intents.lock";
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Why the file was not written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The change cannot be made.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The new content has errors.
    #[error("the new content has errors")]
    Invalid(Vec<Problem>),
    /// Somebody else changed the file meanwhile.
    #[error("the file was changed by somebody else meanwhile")]
    Changed,
    /// The system refused.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The folder beside it could not be made.
    #[error(transparent)]
    Intents(#[from] IntentsError),
}

/// The text of the file; `None` if there is none.
///
/// # Errors
/// When there is one that cannot be read as text.
pub fn read_text(layout: &Layout) -> Result<Option<String>, StoreError> {
    match read_text_at_most(&layout.intents_file(), LIMIT_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Makes the file from the template, unless there is one. Says whether it did.
///
/// # Errors
/// When the system refuses.
pub fn create(layout: &Layout) -> Result<bool, StoreError> {
    make_local_folder(layout)?;
    let _lock = lock(layout)?;
    if read_text(layout)?.is_some() {
        return Ok(false);
    }
    replace(&layout.intents_file(), TEMPLATE.as_bytes())?;
    Ok(true)
}

/// Changes the file under its lock; an absent one starts as the template. What is wrong with the file already
/// does not keep it from being changed, but nothing may become wrong by the change.
///
/// # Errors
/// When the change cannot be made, or would make the file wrong.
pub fn update(layout: &Layout, edit: impl FnOnce(&str) -> Result<String, EditError>) -> Result<Loaded, StoreError> {
    make_local_folder(layout)?;
    let _lock = lock(layout)?;
    let before = read_text(layout)?;
    let text = before.as_deref().unwrap_or(TEMPLATE);
    let after = edit(text)?;
    write_checked(&layout.intents_file(), before.as_deref(), text, &after)
}

/// Replaces the file if it still holds `before`.
///
/// # Errors
/// When somebody else changed it, or the new content has errors that the old one had not.
pub fn replace_checked(layout: &Layout, before: Option<&str>, after: &str) -> Result<Loaded, StoreError> {
    make_local_folder(layout)?;
    let _lock = lock(layout)?;
    if read_text(layout)?.as_deref() != before {
        return Err(StoreError::Changed);
    }
    write_checked(&layout.intents_file(), before, before.unwrap_or_default(), after)
}

fn write_checked(path: &Path, before: Option<&str>, old: &str, after: &str) -> Result<Loaded, StoreError> {
    let loaded = parse(after);
    let known: Vec<String> = parse(old).problems.into_iter().map(|problem| problem.message).collect();
    let new = |problem: &Problem| problem.severity == super::Severity::Error && !known.contains(&problem.message);
    let wrong: Vec<Problem> = loaded.problems.iter().filter(|problem| new(problem)).cloned().collect();
    if !wrong.is_empty() {
        return Err(StoreError::Invalid(wrong));
    }
    if before != Some(after) {
        replace(path, after.as_bytes())?;
    }
    Ok(loaded)
}

fn lock(layout: &Layout) -> Result<FileLock, StoreError> {
    Ok(FileLock::acquire(&layout.local_folder().join(LOCK_NAME), LockKind::Exclusive, LOCK_WAIT)?)
}
