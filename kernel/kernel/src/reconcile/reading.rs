//! First pass: leave out what cannot be read, put each row where its kind belongs, order the rest.

use super::Repair;
use dispatch_contracts::conversation::{Chunk, Role, Row, RowBody};
use dispatch_contracts::ids::{RowId, TurnId};
use std::collections::BTreeMap;

/// What stands in for a result without text.
pub(crate) const NO_OUTPUT: &str = "(no output)";

pub(super) fn read(rows: &[Row], repairs: &mut Vec<Repair>) -> Vec<Row> {
    let readable = rows.iter().filter_map(|row| place(row, repairs)).collect();
    order(deduplicate(readable, repairs))
}

/// A row where its kind belongs; `None` when it cannot be read.
fn place(row: &Row, repairs: &mut Vec<Repair>) -> Option<Row> {
    let body = match &row.body {
        RowBody::Unreadable => {
            repairs.push(Repair::Unreadable(row.id.clone()));
            return None;
        }
        RowBody::CallEnded { result } if result.text.trim().is_empty() => {
            let mut result = result.clone();
            result.text = NO_OUTPUT.to_owned();
            RowBody::CallEnded { result }
        }
        RowBody::Chunk { role, index, part, chunk, state } => match fitting(*role, *index, chunk) {
            ChunkPlacement::Row(body) => body,
            ChunkPlacement::Role(role) => {
                RowBody::Chunk { role, index: *index, part: *part, chunk: chunk.clone(), state: *state }
            }
        },
        other => other.clone(),
    };
    if body != row.body {
        repairs.push(Repair::Moved(row.id.clone()));
    }
    Some(Row { id: row.id.clone(), turn: row.turn.clone(), step: row.step, at_ms: row.at_ms, body })
}

enum ChunkPlacement {
    /// The chunk stays a chunk, of this role.
    Role(Role),
    /// The chunk is really a row of another kind.
    Row(RowBody),
}

fn fitting(role: Role, index: u32, chunk: &Chunk) -> ChunkPlacement {
    match (role, chunk) {
        (_, Chunk::ToolResult(result)) => {
            let mut result = result.clone();
            if result.text.trim().is_empty() {
                result.text = NO_OUTPUT.to_owned();
            }
            ChunkPlacement::Row(RowBody::CallEnded { result })
        }
        (Role::Tool, Chunk::Text { text }) => ChunkPlacement::Row(RowBody::Steer { index, text: text.clone() }),
        (_, Chunk::ToolCall(_) | Chunk::Reasoning { .. }) => ChunkPlacement::Role(Role::Assistant),
        (_, Chunk::Image(_)) => ChunkPlacement::Role(Role::User),
        (role, Chunk::Text { .. }) => ChunkPlacement::Role(role),
    }
}

/// Leaves out exact repetitions; a repeated id with other content gets an id of its own.
fn deduplicate(rows: Vec<Row>, repairs: &mut Vec<Repair>) -> Vec<Row> {
    let mut known: BTreeMap<RowId, usize> = BTreeMap::new();
    let mut kept: Vec<Row> = Vec::with_capacity(rows.len());
    for mut row in rows {
        let first = known.get(&row.id).and_then(|at| kept.get(*at));
        if first.is_some_and(|first| first.body == row.body && first.turn == row.turn) {
            repairs.push(Repair::Duplicate(row.id));
            continue;
        }
        if known.contains_key(&row.id) {
            repairs.push(Repair::Moved(row.id.clone()));
            row.id = free_id(&row.id, |id| known.contains_key(id));
        }
        known.insert(row.id.clone(), kept.len());
        kept.push(row);
    }
    kept
}

/// The first of `id~2`, `id~3`, ... that is free.
fn free_id(id: &RowId, taken: impl Fn(&RowId) -> bool) -> RowId {
    let candidates = (2_u64..).map(|number| RowId::new(format!("{id}~{number}")));
    candidates.into_iter().find(|candidate| !taken(candidate)).unwrap_or_else(|| id.clone())
}

/// Reading order: turns as they first appear, then step, phase, index and part; else as on disk.
pub(super) fn order(mut rows: Vec<Row>) -> Vec<Row> {
    let mut turns: BTreeMap<TurnId, usize> = BTreeMap::new();
    for row in &rows {
        let next = turns.len();
        turns.entry(row.turn.clone()).or_insert(next);
    }
    rows.sort_by_cached_key(|row| {
        let (index, part) = position(&row.body);
        (turns.get(&row.turn).copied(), row.step, row.body.phase(), index, part)
    });
    rows
}

fn position(body: &RowBody) -> (u32, u32) {
    match body {
        RowBody::Chunk { index, part, .. } => (*index, *part),
        RowBody::CallStarted { index, .. } | RowBody::Steer { index, .. } => (*index, 0),
        _ => (0, 0),
    }
}
