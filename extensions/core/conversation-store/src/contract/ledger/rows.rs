//! Rows in the ledger: appended once each, numbered without gaps in storage order.

use super::sessions::no_session;
use super::turns::{check_fence, load_turn, not_running};
use super::{calls, texts};
use crate::contract::{TurnState, records};
use dispatch_contracts::conversation::{Row, RowBody};
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, StorageError, Transaction};

/// The largest row that is kept. Far above what a turn's limits allow, far below what would hurt.
pub const MAX_ROW_BYTES: usize = 64 * 1024 * 1024;

/// Appends a row and says at which position of the session's stream. A row that is there already is
/// not written again; its position is given.
pub fn append_row(tx: &mut dyn Transaction, session: &SessionId, fence: u64, row: &Row) -> Result<u64, StorageError> {
    let body = records::to_json(&row.body)?;
    if body.len() > MAX_ROW_BYTES {
        return Err(given_up(format!("a row of {} bytes is too large to keep", body.len())));
    }
    if let Some(seq) = written_before(tx, row, &body)? {
        return Ok(seq);
    }
    let turn = load_turn(tx, &row.turn)?.ok_or_else(|| given_up(format!("there is no turn `{}`", row.turn)))?;
    if turn.session != *session {
        return Err(given_up(format!("turn `{}` is of another session", turn.id)));
    }
    check_fence(&turn, fence)?;
    if turn.state != TurnState::Running {
        return Err(not_running(&turn));
    }
    let seq = next_seq(tx, session)?;
    tx.execute(&statement!(
        "INSERT INTO agent_messages (session, seq, turn, step, row_id, kind, fence, made_at, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        session,
        seq,
        &row.turn,
        row.step,
        &row.id,
        kind(&row.body),
        fence,
        row.at_ms,
        body
    ))?;
    calls::follow(tx, row)?;
    texts::follow(tx, session, seq, row)?;
    Ok(seq)
}

fn written_before(tx: &mut dyn Transaction, row: &Row, body: &str) -> Result<Option<u64>, StorageError> {
    let found = tx.query(&statement!(
        "SELECT seq, step, body FROM agent_messages WHERE turn = ?1 AND row_id = ?2",
        &row.turn,
        &row.id
    ))?;
    let Some(record) = found.first() else { return Ok(None) };
    if record.unsigned(1)? == u64::from(row.step) && record.text(2)? == body {
        return record.unsigned(0).map(Some);
    }
    Err(given_up(format!("turn `{}` has another row `{}` already", row.turn, row.id)))
}

/// The update locks the session's record, so that numbers are given out in the order of commits.
fn next_seq(tx: &mut dyn Transaction, session: &SessionId) -> Result<u64, StorageError> {
    let taken = tx.query(&statement!(
        "UPDATE agent_sessions SET next_seq = next_seq + 1 WHERE id = ?1 RETURNING next_seq - 1",
        session
    ))?;
    taken.first().ok_or_else(|| no_session(session))?.unsigned(0)
}

const fn kind(body: &RowBody) -> &'static str {
    match body {
        RowBody::Chunk { .. } => "chunk",
        RowBody::CallStarted { .. } => "call_started",
        RowBody::CallEnded { .. } => "call_ended",
        RowBody::Steer { .. } => "steer",
        RowBody::Marker { .. } => "marker",
        RowBody::StepEnded { .. } => "step_ended",
        RowBody::TurnEnded { .. } => "turn_ended",
        RowBody::Unreadable => "unreadable",
    }
}

fn given_up(why: String) -> StorageError {
    StorageError::GivenUp(why)
}
