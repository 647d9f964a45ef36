//! Turns in the ledger: begun and ended under a fence, interrupted when their process is gone.

use super::calls;
use super::sessions::{load_session, no_session};
use crate::contract::records::{self, ENDED, INTERRUPTED, ROW, RUNNING, TURN};
use crate::contract::{Turn, TurnState};
use dispatch_contracts::conversation::{Role, RowBody};
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
    /// In which session.
    pub session: SessionId,
    /// The head of the session as the writer knows it; the turn is refused if the session moved on.
    pub parent: Option<TurnId>,
    /// The fence of the writer's lease.
    pub fence: u64,
    /// The model that will answer.
    pub model: String,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
}

/// Begins a turn behind the head of its session. What a lower fence left running is interrupted.
pub fn begin_turn(tx: &mut dyn Transaction, new: &NewTurn) -> Result<Turn, StorageError> {
    let session = load_session(tx, &new.session)?.ok_or_else(|| no_session(&new.session))?;
    if session.head != new.parent {
        return Err(given_up(format!("session `{}` has moved on since its history was read", session.label)));
    }
    for other in running_in(tx, &new.session)? {
        if other.fence >= new.fence {
            return Err(given_up(format!("turn `{}` of session `{}` is still running", other.id, session.label)));
        }
        interrupt(tx, &other, new.at_ms)?;
    }
    tx.execute(&statement!(
        "INSERT INTO agent_turns (id, session, ord, parent, fence, state, model, started_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        &new.id,
        &new.session,
        session.turns,
        new.parent.as_ref(),
        new.fence,
        RUNNING,
        &new.model,
        new.at_ms
    ))?;
    tx.execute(&statement!(
        "UPDATE agent_sessions SET next_ord = ?2, updated_at = ?3 WHERE id = ?1",
        &new.session,
        session.turns + 1,
        new.at_ms.max(session.updated_at_ms)
    ))?;
    load_turn(tx, &new.id)?.ok_or_else(|| given_up(format!("turn `{}` vanished", new.id)))
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
    let known = load_turn(tx, turn)?.ok_or_else(|| given_up(format!("there is no turn `{turn}`")))?;
    check_fence(&known, fence)?;
    match known.state {
        TurnState::Running => close(tx, &known, ENDED, Some(end), usage, at_ms),
        TurnState::Ended if known.end.as_ref() == Some(end) => Ok(()),
        TurnState::Ended | TurnState::Interrupted => Err(not_running(&known)),
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
    tx.execute(&statement!(
        "UPDATE agent_turns SET state = ?2, ended_at = ?3, \"end\" = ?4, usage = ?5 WHERE id = ?1",
        &turn.id,
        state,
        at_ms,
        end,
        records::to_json(usage)?
    ))?;
    calls::close_open(tx, &turn.id, at_ms)?;
    tx.execute(&statement!(
        "UPDATE agent_sessions SET updated_at = ?2 WHERE id = ?1 AND updated_at < ?2",
        &turn.session,
        at_ms
    ))?;
    Ok(())
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
