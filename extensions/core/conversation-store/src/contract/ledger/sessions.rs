//! Sessions in the ledger: a label, a persona and a pointer to the head turn.

use super::turns::load_turn;
use crate::contract::records::{self, SESSION};
use crate::contract::{Session, check_label};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{StorageError, Transaction};

/// The session with this label. If there is none, it is made with this id and this persona; if there
/// is one, it stays as it is.
pub fn open_session(
    tx: &mut dyn Transaction,
    id: &SessionId,
    label: &str,
    persona: &str,
    now_ms: u64,
) -> Result<Session, StorageError> {
    check_label(label).map_err(|error| StorageError::GivenUp(error.to_string()))?;
    tx.execute(&statement!(
        "INSERT INTO agent_sessions (id, label, persona, next_ord, next_seq, created_at, updated_at)
         VALUES (?1, ?2, ?3, 0, 1, ?4, ?4) ON CONFLICT (label) DO NOTHING",
        id,
        label,
        persona,
        now_ms
    ))?;
    find_session(tx, label)?.ok_or_else(|| StorageError::GivenUp(format!("session `{label}` vanished")))
}

/// The session with this label.
pub fn find_session(tx: &mut dyn Transaction, label: &str) -> Result<Option<Session>, StorageError> {
    let found = tx.query(&statement!(format!("SELECT {SESSION} FROM agent_sessions WHERE label = ?1"), label))?;
    found.first().map(|record| records::session(record)).transpose()
}

/// The session with this id.
pub fn load_session(tx: &mut dyn Transaction, id: &SessionId) -> Result<Option<Session>, StorageError> {
    let found = tx.query(&statement!(format!("SELECT {SESSION} FROM agent_sessions WHERE id = ?1"), id))?;
    found.first().map(|record| records::session(record)).transpose()
}

/// Makes a turn the last one of the session's history. It need not be one of the session's own:
/// moving the head back is how a conversation is taken up from an earlier point.
pub fn set_head(tx: &mut dyn Transaction, session: &SessionId, turn: &TurnId) -> Result<(), StorageError> {
    if load_turn(tx, turn)?.is_none() {
        return Err(StorageError::GivenUp(format!("there is no turn `{turn}`")));
    }
    let moved = tx.execute(&statement!("UPDATE agent_sessions SET head_turn = ?2 WHERE id = ?1", session, turn))?;
    if moved == 0 {
        return Err(no_session(session));
    }
    Ok(())
}

pub(super) fn no_session(session: &SessionId) -> StorageError {
    StorageError::GivenUp(format!("there is no session with the id `{session}`"))
}
