//! What people and models said, as plain text beside the rows, so that it can be searched.

use dispatch_contracts::conversation::{Chunk, Role, Row, RowBody};
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, StorageError, Transaction};

/// How much of the part before is repeated, so that a word or a phrase across the cut is found.
const OVERLAP_CHARS: usize = 120;

/// Keeps the searchable text in step with a row that was just appended.
pub(super) fn follow(tx: &mut dyn Transaction, session: &SessionId, seq: u64, row: &Row) -> Result<(), StorageError> {
    let (role, part, text) = match &row.body {
        RowBody::Chunk { role: Role::User, part, chunk: Chunk::Text { text }, .. } => ("user", *part, text),
        RowBody::Chunk { role: Role::Assistant, part, chunk: Chunk::Text { text }, .. } => ("assistant", *part, text),
        RowBody::Steer { text, .. } => ("user", 0, text),
        _ => return Ok(()),
    };
    let before = if part == 0 { String::new() } else { part_before(tx, row, role)? };
    // A null character ends a text in some databases; nobody searches for it.
    let text = format!("{before}{text}").replace('\0', " ");
    if text.trim().is_empty() {
        return Ok(());
    }
    tx.execute_later(statement!(
        "INSERT INTO agent_texts (session, seq, turn, role, text) VALUES (?1, ?2, ?3, ?4, ?5)",
        session,
        seq,
        &row.turn,
        role,
        text
    ))
}

fn part_before(tx: &mut dyn Transaction, row: &Row, role: &str) -> Result<String, StorageError> {
    let found = tx.query(&statement!(
        "SELECT text FROM agent_texts WHERE turn = ?1 AND role = ?2 ORDER BY id DESC LIMIT 1",
        &row.turn,
        role
    ))?;
    let Some(record) = found.first() else { return Ok(String::new()) };
    let text = record.text(0)?;
    let start = text.char_indices().rev().take(OVERLAP_CHARS).last().map_or(0, |(at, _)| at);
    Ok(text.get(start..).unwrap_or_default().to_owned())
}
