//! Rows in the ledger: appended once each, numbered without gaps in storage order.

use super::sessions::no_session;
use super::turns::{check_fence, load_turn, not_running};
use super::{calls, texts};
use crate::contract::records;
use dispatch_contracts::conversation::{Row, RowBody};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, StorageError, Transaction};
use std::collections::BTreeSet;

/// The largest row that is kept. Far above what a turn's limits allow, far below what would hurt.
pub const MAX_ROW_BYTES: usize = 64 * 1024 * 1024;

/// Appends a row and says at which position of the session's stream. A row that is there already is
/// not written again; its position is given.
pub fn append_row(tx: &mut dyn Transaction, session: &SessionId, fence: u64, row: &Row) -> Result<u64, StorageError> {
    let places = append_rows(tx, session, fence, std::slice::from_ref(row))?;
    places.first().copied().ok_or_else(|| given_up("the row has no place".to_owned()))
}

/// The same for several rows of one turn, in their order.
pub fn append_rows(
    tx: &mut dyn Transaction,
    session: &SessionId,
    fence: u64,
    rows: &[Row],
) -> Result<Vec<u64>, StorageError> {
    let Some(turn) = rows.first().map(|row| &row.turn) else { return Ok(Vec::new()) };
    if rows.iter().any(|row| row.turn != *turn) {
        return Err(given_up("rows of several turns cannot be appended together".to_owned()));
    }
    let bodies = rows.iter().map(body).collect::<Result<Vec<_>, _>>()?;
    let known = known_rows(tx, rows)?;
    let mut places = Vec::with_capacity(rows.len());
    for (row, body) in rows.iter().zip(&bodies) {
        places.push(if known.ids.contains(row.id.as_str()) { Some(written_before(tx, row, body)?) } else { None });
    }
    let new = places.iter().filter(|place| place.is_none()).count() as u64;
    if new > 0 {
        check_turn(tx, &known, session, fence, turn)?;
        let missing = rows.iter().zip(bodies).zip(&mut places).filter(|(_, place)| place.is_none());
        for (seq, ((row, body), place)) in (next_seqs(tx, session, new)?..).zip(missing) {
            insert(tx, session, fence, seq, row, body)?;
            *place = Some(seq);
        }
    }
    Ok(places.into_iter().flatten().collect())
}

/// Writes the rows that a new turn begins with, from this position on.
pub(super) fn insert_first(
    tx: &mut dyn Transaction,
    session: &SessionId,
    fence: u64,
    first: u64,
    rows: &[Row],
) -> Result<Vec<u64>, StorageError> {
    let mut places = Vec::with_capacity(rows.len());
    for (seq, row) in (first..).zip(rows) {
        insert(tx, session, fence, seq, row, body(row)?)?;
        places.push(seq);
    }
    Ok(places)
}

fn body(row: &Row) -> Result<String, StorageError> {
    let body = records::to_json(&row.body)?;
    if body.len() > MAX_ROW_BYTES {
        return Err(given_up(format!("a row of {} bytes is too large to keep", body.len())));
    }
    Ok(body)
}

/// What the ledger knows of rows before they are appended.
struct KnownRows {
    /// The session, the fence and the state of their turn.
    turn: Option<(String, u64, String)>,
    /// Rows of the turn that are there; those among ours are all in it.
    ids: BTreeSet<String>,
}

/// Asks for the turn and, between the least and the greatest of the rows' ids, for what is there.
fn known_rows(tx: &mut dyn Transaction, rows: &[Row]) -> Result<KnownRows, StorageError> {
    let turn = rows.first().map(|row| row.turn.as_str()).unwrap_or_default();
    let ids = || rows.iter().map(|row| row.id.as_str());
    let found = tx.query(&statement!(
        "SELECT t.session, t.fence, t.state, m.row_id FROM agent_turns t
         LEFT JOIN agent_messages m ON m.turn = t.id AND m.row_id >= ?2 AND m.row_id <= ?3 WHERE t.id = ?1",
        turn,
        ids().min().unwrap_or_default(),
        ids().max().unwrap_or_default()
    ))?;
    let mut known = KnownRows { turn: None, ids: BTreeSet::new() };
    for record in &found {
        known.turn = Some((record.text(0)?.to_owned(), record.unsigned(1)?, record.text(2)?.to_owned()));
        known.ids.extend(record.optional_text(3)?.map(str::to_owned));
    }
    Ok(known)
}

/// Refuses rows of a turn that is not this session's, not under this fence, or over.
fn check_turn(
    tx: &mut dyn Transaction,
    known: &KnownRows,
    session: &SessionId,
    fence: u64,
    turn: &TurnId,
) -> Result<(), StorageError> {
    match &known.turn {
        None => Err(given_up(format!("there is no turn `{turn}`"))),
        Some((of, ..)) if of != session.as_str() => Err(given_up(format!("turn `{turn}` is of another session"))),
        Some((_, under, state)) if *under == fence && state == records::RUNNING => Ok(()),
        Some(_) => {
            let turn = load_turn(tx, turn)?.ok_or_else(|| given_up(format!("there is no turn `{turn}`")))?;
            check_fence(&turn, fence)?;
            Err(not_running(&turn))
        }
    }
}

fn insert(
    tx: &mut dyn Transaction,
    session: &SessionId,
    fence: u64,
    seq: u64,
    row: &Row,
    body: String,
) -> Result<(), StorageError> {
    tx.execute_later(statement!(
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
    texts::follow(tx, session, seq, row)
}

/// The position of a row that is there.
fn written_before(tx: &mut dyn Transaction, row: &Row, body: &str) -> Result<u64, StorageError> {
    let found = tx.query(&statement!(
        "SELECT seq, step, body FROM agent_messages WHERE turn = ?1 AND row_id = ?2",
        &row.turn,
        &row.id
    ))?;
    match found.first() {
        Some(record) if record.unsigned(1)? == u64::from(row.step) && record.text(2)? == body => record.unsigned(0),
        _ => Err(given_up(format!("turn `{}` has another row `{}` already", row.turn, row.id))),
    }
}

/// Takes so many positions and gives the first. The update locks the session's record, so that numbers are given out in
/// the order of commits.
fn next_seqs(tx: &mut dyn Transaction, session: &SessionId, count: u64) -> Result<u64, StorageError> {
    let taken = tx.query(&statement!(
        "UPDATE agent_sessions SET next_seq = next_seq + ?2 WHERE id = ?1 RETURNING next_seq - ?2",
        session,
        count
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
