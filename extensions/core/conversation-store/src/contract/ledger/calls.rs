//! Tool calls in the ledger: `started` before the effect, `ended` with its outcome, each at most once.

use crate::contract::records::{self, status_name};
use dispatch_contracts::conversation::{Chunk, ResultStatus, Row, RowBody, ToolResult};
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{StorageError, Transaction};

/// Keeps the calls in step with a row that was just appended. A second start of a call is refused by
/// the table: a call runs at most once.
pub(super) fn follow(tx: &mut dyn Transaction, row: &Row) -> Result<(), StorageError> {
    match &row.body {
        RowBody::CallStarted { call, .. } => {
            tx.execute_later(statement!(
                "INSERT INTO agent_tool_calls (turn, call_id, name, state, started_at) VALUES (?1, ?2, ?3, 'started', ?4)",
                &row.turn,
                &call.id,
                &call.name,
                row.at_ms
            ))?;
        }
        RowBody::CallEnded { result } => ended(tx, row, result)?,
        _ => {}
    }
    Ok(())
}

/// Calls that nobody will finish: their outcome is unknown.
pub(super) fn close_open(tx: &mut dyn Transaction, turn: &TurnId, at_ms: u64) -> Result<(), StorageError> {
    tx.execute_later(statement!(
        "UPDATE agent_tool_calls SET state = 'ended', status = ?2, ended_at = ?3 WHERE turn = ?1 AND state = 'started'",
        turn,
        status_name(ResultStatus::Unknown),
        at_ms
    ))
}

fn ended(tx: &mut dyn Transaction, row: &Row, result: &ToolResult) -> Result<(), StorageError> {
    let changed = tx.execute(&statement!(
        "UPDATE agent_tool_calls SET state = 'ended', status = ?3, ended_at = ?4 WHERE turn = ?1 AND call_id = ?2",
        &row.turn,
        &result.call,
        status_name(result.status),
        row.at_ms
    ))?;
    if changed == 0 {
        let name = announced_name(tx, row, result)?;
        tx.execute(&statement!(
            "INSERT INTO agent_tool_calls (turn, call_id, name, state, status, ended_at)
             VALUES (?1, ?2, ?3, 'ended', ?4, ?5)",
            &row.turn,
            &result.call,
            name,
            status_name(result.status),
            row.at_ms
        ))?;
    }
    Ok(())
}

/// A call that was refused has no start; its name is in the model's own words.
fn announced_name(tx: &mut dyn Transaction, row: &Row, result: &ToolResult) -> Result<String, StorageError> {
    let found = tx.query(&statement!(
        format!("SELECT {} FROM agent_messages m WHERE m.turn = ?1 AND m.step = ?2 AND m.kind = 'chunk'", records::ROW),
        &row.turn,
        row.step
    ))?;
    let spoken = records::all(&found, records::row)?;
    let name = spoken.into_iter().find_map(|stored| match stored.row.body {
        RowBody::Chunk { chunk: Chunk::ToolCall(call), .. } if call.id == result.call => Some(call.name),
        _ => None,
    });
    Ok(name.unwrap_or_default())
}
