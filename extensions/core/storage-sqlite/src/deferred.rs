//! Whether a transaction has foreign keys that are still broken, which only SQLite's own interface tells.

use rusqlite::{Connection, ffi};

/// Whether the transaction under way could not be committed because of a foreign key.
pub(crate) fn any(connection: &Connection) -> bool {
    let (mut current, mut highest) = (0, 0);
    #[allow(unsafe_code, reason = "the counter has no safe interface; the handle lives as long as the connection")]
    let status = unsafe {
        ffi::sqlite3_db_status(
            connection.handle(),
            ffi::SQLITE_DBSTATUS_DEFERRED_FKS,
            &raw mut current,
            &raw mut highest,
            0,
        )
    };
    status == ffi::SQLITE_OK && current != 0
}
