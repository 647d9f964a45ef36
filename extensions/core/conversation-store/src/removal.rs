//! Taking a session away, with the turns that no other session goes on from.

use crate::contract::Session;
use crate::contract::ledger::load_turn;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, StorageError, Transaction};

/// Removes the session, and then every turn that nothing needs: from the leaves towards the root, as
/// long as a turn is the head of no session, the parent of no turn, and its own session is gone.
pub(crate) fn remove(tx: &mut dyn Transaction, session: &Session) -> Result<(), StorageError> {
    tx.execute(&statement!("DELETE FROM agent_sessions WHERE id = ?1", &session.id))?;
    let own = tx.query(&statement!("SELECT id FROM agent_turns WHERE session = ?1 ORDER BY ord DESC", &session.id))?;
    let own: Result<Vec<TurnId>, StorageError> = own.iter().map(|row| row.text(0).map(TurnId::from)).collect();
    for turn in session.head.iter().cloned().chain(own?) {
        let mut next = Some(turn);
        while let Some(turn) = next.take() {
            next = remove_unneeded(tx, &turn)?;
        }
    }
    Ok(())
}

/// Removes one turn if nothing needs it, and gives its parent, which may be needed no more.
fn remove_unneeded(tx: &mut dyn Transaction, turn: &TurnId) -> Result<Option<TurnId>, StorageError> {
    let Some(known) = load_turn(tx, turn)? else { return Ok(None) };
    let needed = tx.query(&statement!(
        "SELECT EXISTS (SELECT 1 FROM agent_turns WHERE parent = ?1)
             OR EXISTS (SELECT 1 FROM agent_sessions WHERE head_turn = ?1)
             OR EXISTS (SELECT 1 FROM agent_sessions WHERE id = ?2)",
        turn,
        &known.session
    ))?;
    if needed.first().is_none_or(|row| row.integer(0) != Ok(0)) {
        return Ok(None);
    }
    for table in ["agent_texts", "agent_tool_calls", "agent_outputs", "agent_messages"] {
        tx.execute(&statement!(format!("DELETE FROM {table} WHERE turn = ?1"), turn))?;
    }
    tx.execute(&statement!("DELETE FROM agent_turns WHERE id = ?1", turn))?;
    Ok(known.parent)
}
