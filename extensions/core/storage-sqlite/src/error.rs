//! What SQLite says, in the words of the storage contract.

use crate::backup;
use crate::resolved_location::ResolvedLocation;
use dispatch_contracts::storage::StorageError;
use rusqlite::ErrorCode;

/// Translates a failure. Texts of SQLite name tables and columns, never values.
pub(crate) fn translate(place: &ResolvedLocation, error: &rusqlite::Error) -> StorageError {
    let said = error_text(error);
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => StorageError::Constraint(said),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            StorageError::Busy
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StorageError::Corrupt(damaged(place, &said)),
        Some(ErrorCode::DiskFull) => StorageError::Unwritable(format!("{}: the disk is full", name(place))),
        Some(
            ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure,
        ) => StorageError::Unwritable(format!("{}: {said}", name(place))),
        _ => StorageError::Statement(said),
    }
}

/// Whether the failure is about the data and not about the statement, so that everybody meets it.
pub(crate) fn concerns_everybody(error: &StorageError) -> bool {
    matches!(error, StorageError::Busy | StorageError::Unwritable(_) | StorageError::Corrupt(_))
}

fn error_text(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        // The text of the statement stays out: it can be long, and its author knows it.
        rusqlite::Error::SqlInputError { msg, offset, .. } => format!("{msg} (at byte {offset})"),
        other => other.to_string(),
    }
}

fn damaged(place: &ResolvedLocation, said: &str) -> String {
    let Some(path) = place.path() else { return said.to_owned() };
    let advice = match backup::newest(path) {
        Some(backup) => format!("the newest backup is {}", backup.display()),
        None => "it has no backup".to_owned(),
    };
    format!("{}: {said}; nothing in it was changed or removed, and {advice}", path.display())
}

fn name(place: &ResolvedLocation) -> String {
    place.path().map_or_else(|| "memory".to_owned(), |path| path.display().to_string())
}
