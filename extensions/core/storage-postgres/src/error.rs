//! What PostgreSQL says, in the words of the storage contract. Texts name tables and columns, never values: the
//! server's details, which quote rows, are left out.

use crate::contract::DatabaseAddress;
use dispatch_contracts::storage::StorageError;
use tokio_postgres::error::SqlState;

/// What the TLS library says of a certificate that it does not believe.
const BAD_CERTIFICATE: &str = "invalid peer certificate";

/// Translates a failure of a statement.
pub(crate) fn translate(error: &tokio_postgres::Error) -> StorageError {
    let Some(said) = error.as_db_error() else {
        return unreachable_text(error);
    };
    let text = said.message().to_owned();
    match said.code() {
        code if code.code().starts_with("23") => StorageError::Constraint(text),
        code if is_passing(code) => StorageError::Busy,
        code if is_away(code) => StorageError::Unreachable(text),
        code if code.code().starts_with("53") => StorageError::Unwritable(text),
        &SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INSUFFICIENT_PRIVILEGE => StorageError::Unwritable(text),
        &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => StorageError::Corrupt(text),
        _ => StorageError::Statement(text),
    }
}

/// Waited too long for a lock, or was the victim that ended a deadlock.
fn is_passing(code: &SqlState) -> bool {
    [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE].contains(code)
}

/// The server goes, comes or has no room for a connection.
fn is_away(code: &SqlState) -> bool {
    code.code().starts_with("57P") || code.code().starts_with("08") || *code == SqlState::TOO_MANY_CONNECTIONS
}

/// Translates a failure to connect: what to do about it is part of the text.
pub(crate) fn connecting(address: &DatabaseAddress, error: &tokio_postgres::Error) -> StorageError {
    let Some(said) = error.as_db_error() else {
        return match unreachable_text(error) {
            StorageError::Unreachable(text) if text.contains(BAD_CERTIFICATE) => StorageError::Unwritable(format!(
                "{address}: {text}; name the certificate of its authority with `sslrootcert=FILE` in `storage.url`"
            )),
            StorageError::Unreachable(text) => StorageError::Unreachable(format!("{address}: {text}")),
            other => other,
        };
    };
    let text = format!("{address}: {}", said.message());
    match said.code() {
        code if is_away(code) => StorageError::Unreachable(text),
        &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            StorageError::Unwritable(format!("{text}; check user and password in `storage.url`"))
        }
        &SqlState::INVALID_CATALOG_NAME => StorageError::Unwritable(format!("{text}; make it with `createdb`")),
        _ => StorageError::Unwritable(text),
    }
}

fn unreachable_text(error: &tokio_postgres::Error) -> StorageError {
    let mut text = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        text = format!("{text}: {cause}");
    }
    StorageError::Unreachable(text)
}
