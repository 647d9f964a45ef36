//! The history of a session: from its head through the parents to the root.

use super::sessions::{load_session, no_session};
use crate::contract::records::{self, ROW, TURN};
use crate::contract::{StoredRow, Turn};
use dispatch_contracts::conversation::Row;
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{StorageError, Transaction};
use std::collections::BTreeMap;

/// The turns from `?1` to the root, in no order. `UNION` ends the walk even if damage made a circle.
pub(crate) const CHAIN: &str = "WITH RECURSIVE chain (id, parent) AS (
    SELECT id, parent FROM agent_turns WHERE id = ?1
    UNION
    SELECT t.id, t.parent FROM chain c JOIN agent_turns t ON t.id = c.parent)";

/// The turns of a session's history, from the root to the head.
pub fn load_chain(tx: &mut dyn Transaction, session: &SessionId) -> Result<Vec<Turn>, StorageError> {
    let Some(head) = load_session(tx, session)?.ok_or_else(|| no_session(session))?.head else {
        return Ok(Vec::new());
    };
    let found = tx.query(&statement!(turns_of_chain(), &head))?;
    Ok(in_order(records::all(&found, records::turn)?, &head))
}

/// The rows of a session's history as they were written: turns from the root to the head, the rows of
/// each in storage order. The kernel's `reconcile` makes a history of them.
pub fn load_rows(tx: &mut dyn Transaction, session: &SessionId) -> Result<Vec<Row>, StorageError> {
    let turns = load_chain(tx, session)?;
    let Some(head) = turns.last() else { return Ok(Vec::new()) };
    let found = tx.query(&statement!(rows_of_chain(), &head.id))?;
    Ok(by_turn(&turns, records::all(&found, records::row)?).into_iter().flatten().map(|stored| stored.row).collect())
}

/// The rows of one turn, in storage order.
pub fn load_turn_rows(tx: &mut dyn Transaction, turn: &TurnId) -> Result<Vec<Row>, StorageError> {
    let query = format!("SELECT {ROW} FROM agent_messages m WHERE m.turn = ?1 ORDER BY m.seq");
    let found = tx.query(&statement!(query, turn))?;
    Ok(records::all(&found, records::row)?.into_iter().map(|stored| stored.row).collect())
}

pub(crate) fn turns_of_chain() -> String {
    format!("{CHAIN} SELECT {TURN} FROM chain c CROSS JOIN agent_turns t WHERE t.id = c.id")
}

pub(crate) fn rows_of_chain() -> String {
    format!("{CHAIN} SELECT {ROW} FROM chain c CROSS JOIN agent_messages m WHERE m.turn = c.id")
}

/// Turns in the order of their parents, the given one last.
pub(crate) fn in_order(turns: Vec<Turn>, head: &TurnId) -> Vec<Turn> {
    let mut known: BTreeMap<TurnId, Turn> = turns.into_iter().map(|turn| (turn.id.clone(), turn)).collect();
    let mut ordered = Vec::with_capacity(known.len());
    let mut next = known.remove(head);
    while let Some(turn) = next {
        next = turn.parent.as_ref().and_then(|parent| known.remove(parent));
        ordered.push(turn);
    }
    ordered.reverse();
    ordered
}

/// The rows of each turn, in storage order.
pub(crate) fn by_turn(turns: &[Turn], rows: Vec<StoredRow>) -> Vec<Vec<StoredRow>> {
    let mut groups: BTreeMap<TurnId, Vec<StoredRow>> = BTreeMap::new();
    for stored in rows {
        groups.entry(stored.row.turn.clone()).or_default().push(stored);
    }
    let mut take = |turn: &Turn| {
        let mut rows = groups.remove(&turn.id).unwrap_or_default();
        rows.sort_by_key(|stored| stored.seq);
        rows
    };
    turns.iter().map(&mut take).collect()
}
