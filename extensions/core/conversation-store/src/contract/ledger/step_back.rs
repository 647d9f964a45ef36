//! Undoing a turn that did nothing: it stays in the log and leaves the history.

use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{StorageError, Transaction};

/// Makes the turn before this one the head again, if this one is the head.
pub fn step_back(tx: &mut dyn Transaction, session: &SessionId, turn: &TurnId) -> Result<(), StorageError> {
    tx.execute(&statement!(
        "UPDATE agent_sessions SET head_turn = (SELECT parent FROM agent_turns WHERE id = ?2)
         WHERE id = ?1 AND head_turn = ?2",
        session,
        turn
    ))?;
    Ok(())
}
