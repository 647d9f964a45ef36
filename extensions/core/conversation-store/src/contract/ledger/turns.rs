//! Turns in the ledger: begun and ended under a fence, interrupted when their process is gone.

use super::calls;
use super::rows::insert_first;
use crate::contract::records::{self, ENDED, INTERRUPTED, ROW, RUNNING, TURN};
use crate::contract::{Session, Turn, TurnState};
use dispatch_contracts::conversation::{Role, Row, RowBody};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::provider::Usage;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{StorageError, Transaction};
use dispatch_contracts::turn::TurnEnd;

/// A turn that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTurn {
    /// Fresh.
    pub id: TurnId,
    /// The fence of the writer's lease.
    pub fence: u64,
    /// The model that will answer.
    pub model: String,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
}

/// Begins a turn with its input behind the head of its session, makes it the head and gives the positions of the input.
/// It is refused if the session is no longer as the writer read it. What a lower fence left running is interrupted.
pub fn begin_turn(
    tx: &mut dyn Transaction,
    session: &Session,
    new: &NewTurn,
    input: &[Row],
) -> Result<Vec<u64>, StorageError> {
    for other in running_in(tx, &session.id)? {
        if other.fence >= new.fence {
            return Err(given_up(format!("turn `{}` of session `{}` is still running", other.id, session.label)));
        }
        interrupt(tx, &other, new.at_ms)?;
    }
    let first = session.last_seq + 1;
    let moved = tx.execute(&statement!(
        "UPDATE agent_sessions SET next_ord = ?2, next_seq = ?3, updated_at = ?4, head_turn = ?5
         WHERE id = ?1 AND next_ord = ?6 AND next_seq = ?7 AND COALESCE(head_turn, '') = ?8",
        &session.id,
        session.turns + 1,
        first + input.len() as u64,
        new.at_ms.max(session.updated_at_ms),
        &new.id,
        session.turns,
        first,
        session.head.as_ref().map(TurnId::as_str).unwrap_or_default()
    ))?;
    if moved == 0 {
        return Err(given_up(format!("session `{}` has moved on since it was read", session.label)));
    }
    tx.execute_later(statement!(
        "INSERT INTO agent_turns (id, session, ord, parent, fence, state, model, started_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        &new.id,
        &session.id,
        session.turns,
        session.head.as_ref(),
        new.fence,
        RUNNING,
        &new.model,
        new.at_ms
    ))?;
    insert_first(tx, &session.id, new.fence, first, input)
}

/// Ends a turn. Ending it again in the same way changes nothing; a call that has no outcome by now
/// is recorded as one whose outcome nobody knows.
pub fn end_turn(
    tx: &mut dyn Transaction,
    turn: &TurnId,
    fence: u64,
    end: &TurnEnd,
    usage: &Usage,
    at_ms: u64,
) -> Result<(), StorageError> {
    let changed = tx.execute(&statement!(
        "UPDATE agent_turns SET state = 'ended', ended_at = ?3, \"end\" = ?4, usage = ?5
         WHERE id = ?1 AND fence = ?2 AND state = 'running'",
        turn,
        fence,
        at_ms,
        records::to_json(end)?,
        records::to_json(usage)?
    ))?;
    if changed > 0 {
        return follow_end(tx, turn, at_ms);
    }
    let known = load_turn(tx, turn)?.ok_or_else(|| given_up(format!("there is no turn `{turn}`")))?;
    check_fence(&known, fence)?;
    match known.state {
        TurnState::Ended if known.end.as_ref() == Some(end) => Ok(()),
        _ => Err(not_running(&known)),
    }
}

/// One turn.
pub fn load_turn(tx: &mut dyn Transaction, turn: &TurnId) -> Result<Option<Turn>, StorageError> {
    let found = tx.query(&statement!(format!("SELECT {TURN} FROM agent_turns t WHERE t.id = ?1"), turn))?;
    found.first().map(|record| records::turn(record)).transpose()
}

/// The turns of all sessions that have no end yet, oldest first. Whether somebody still drives them
/// is for the holder of the leases to say.
pub fn running_turns(tx: &mut dyn Transaction) -> Result<Vec<Turn>, StorageError> {
    let found = tx.query(&statement!(format!(
        "SELECT {TURN} FROM agent_turns t WHERE t.state = 'running' ORDER BY t.started_at, t.id"
    )))?;
    records::all(&found, records::turn)
}

/// Whether a turn of this session has no end yet.
pub fn is_running(tx: &mut dyn Transaction, session: &SessionId) -> Result<bool, StorageError> {
    running_in(tx, session).map(|turns| !turns.is_empty())
}

/// Closes turns whose process is gone: ended if their last row says how, interrupted otherwise. Turns
/// that are not running are left alone. Says how many were closed.
pub fn sweep(tx: &mut dyn Transaction, dead: &[TurnId], now_ms: u64) -> Result<u64, StorageError> {
    let mut closed = 0;
    for turn in dead {
        match load_turn(tx, turn)? {
            Some(turn) if turn.state == TurnState::Running => interrupt(tx, &turn, now_ms)?,
            _ => continue,
        }
        closed += 1;
    }
    Ok(closed)
}

/// Refuses a writer whose lease is not the one the turn was begun under.
pub(super) fn check_fence(turn: &Turn, fence: u64) -> Result<(), StorageError> {
    if turn.fence == fence {
        return Ok(());
    }
    Err(given_up(format!("turn `{}` belongs to fence {}, and this writer has fence {fence}", turn.id, turn.fence)))
}

pub(super) fn not_running(turn: &Turn) -> StorageError {
    given_up(format!("turn `{}` is over", turn.id))
}

fn running_in(tx: &mut dyn Transaction, session: &SessionId) -> Result<Vec<Turn>, StorageError> {
    let found = tx.query(&statement!(
        format!("SELECT {TURN} FROM agent_turns t WHERE t.state = 'running' AND t.session = ?1"),
        session
    ))?;
    records::all(&found, records::turn)
}

/// The rows know more than the turn: the process may have died between the last row and the end.
fn interrupt(tx: &mut dyn Transaction, turn: &Turn, now_ms: u64) -> Result<(), StorageError> {
    let found = tx.query(&statement!(
        format!(
            "SELECT {} FROM agent_messages m
             WHERE m.turn = ?1 AND m.kind IN ('step_ended', 'turn_ended') ORDER BY m.seq",
            ROW
        ),
        &turn.id
    ))?;
    let (mut usage, mut end) = (Usage::default(), None);
    for stored in records::all(&found, records::row)? {
        match stored.row.body {
            RowBody::StepEnded { usage: step, .. } => usage.add(step),
            RowBody::TurnEnded { end: said } => end = Some((said, stored.row.at_ms)),
            _ => {}
        }
    }
    match end {
        Some((end, at_ms)) => close(tx, turn, ENDED, Some(&end), &usage, at_ms),
        None => close(tx, turn, INTERRUPTED, None, &usage, now_ms),
    }
}

fn close(
    tx: &mut dyn Transaction,
    turn: &Turn,
    state: &str,
    end: Option<&TurnEnd>,
    usage: &Usage,
    at_ms: u64,
) -> Result<(), StorageError> {
    let end = end.map(records::to_json).transpose()?;
    tx.execute_later(statement!(
        "UPDATE agent_turns SET state = ?2, ended_at = ?3, \"end\" = ?4, usage = ?5 WHERE id = ?1",
        &turn.id,
        state,
        at_ms,
        end,
        records::to_json(usage)?
    ))?;
    follow_end(tx, &turn.id, at_ms)
}

/// Brings its calls and its session in step with a turn that was just ended.
fn follow_end(tx: &mut dyn Transaction, turn: &TurnId, at_ms: u64) -> Result<(), StorageError> {
    calls::close_open(tx, turn, at_ms)?;
    tx.execute_later(statement!(
        "UPDATE agent_sessions SET updated_at = ?2
         WHERE id = (SELECT session FROM agent_turns WHERE id = ?1) AND updated_at < ?2",
        turn,
        at_ms
    ))
}

fn given_up(why: String) -> StorageError {
    StorageError::GivenUp(why)
}

/// Whether nothing but the input of a turn is stored: no answer began, no tool started, nothing was steered.
///
/// # Errors
/// When the database cannot be read.
pub fn has_only_input(tx: &mut dyn Transaction, turn: &TurnId) -> Result<bool, StorageError> {
    let more = "SELECT 1 FROM agent_messages WHERE turn = ?1 AND (step <> 0 OR kind <> 'chunk') LIMIT 1";
    if !tx.query(&statement!(more, turn))?.is_empty() {
        return Ok(false);
    }
    let chunks = tx.query(&statement!(format!("SELECT {ROW} FROM agent_messages m WHERE m.turn = ?1"), turn))?;
    let rows = records::all(&chunks, records::row)?;
    Ok(rows.iter().all(|stored| matches!(stored.row.body, RowBody::Chunk { role: Role::User, .. })))
}
