//! The queue's tables, and how a session's state is read from them and written back in one transaction.

use super::{approvals, outbox};
use crate::contract::{DispatchId, DispatchState, Submission};
use crate::state::{SessionState, StoredDispatch};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Record, StorageError, Transaction};
use serde::Serialize;

/// The steps that the queue's tables go through.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration::new(1, "the session queue", QUEUE),
    Migration::new(2, "where a dispatch belongs", SCOPE),
    approvals::MIGRATION,
    outbox::MIGRATION,
];

const QUEUE: &[&str] = &[
    "CREATE TABLE session_leases (
            session TEXT PRIMARY KEY,
            label TEXT NOT NULL,
            next_seq INTEGER NOT NULL,
            fence INTEGER NOT NULL,
            lease_owner TEXT,
            lease_until INTEGER NOT NULL,
            stop_fence INTEGER,
            ready_at INTEGER,
            running_turn TEXT
        )",
    "CREATE INDEX session_leases_ready ON session_leases (ready_at) WHERE ready_at IS NOT NULL",
    "CREATE INDEX session_leases_held ON session_leases (lease_owner) WHERE lease_owner IS NOT NULL",
    "CREATE TABLE dispatches (
            id TEXT PRIMARY KEY,
            session TEXT NOT NULL,
            seq INTEGER NOT NULL,
            external_id TEXT,
            state TEXT NOT NULL,
            reason TEXT NOT NULL,
            attempts INTEGER NOT NULL,
            not_before INTEGER NOT NULL,
            at INTEGER NOT NULL,
            share_key TEXT NOT NULL,
            submission TEXT NOT NULL,
            UNIQUE (session, seq),
            UNIQUE (session, external_id)
        )",
    "CREATE INDEX dispatches_open ON dispatches (session, seq) WHERE state IN ('pending', 'running')",
    "CREATE TABLE turn_inputs (dispatch_id TEXT PRIMARY KEY, turn_id TEXT NOT NULL)",
    "CREATE INDEX turn_inputs_turn ON turn_inputs (turn_id)",
];

/// A dispatch that is there already has no scope: it waits until a person says where it belongs.
const SCOPE: &[&str] =
    &["ALTER TABLE dispatches ADD COLUMN scope TEXT", "ALTER TABLE session_leases ADD COLUMN next_workspace TEXT"];

/// The columns that [`entry`] reads.
pub(super) const ENTRY: &str =
    "d.id, d.seq, d.state, d.reason, i.turn_id, d.attempts, d.not_before, d.at, d.share_key, d.submission, d.scope";
/// How many columns those are: what a query adds comes behind them.
pub(super) const ENTRY_COLUMNS: usize = 11;
/// A session's lease behind each of its open dispatches, or behind nothing where there is none.
const LOAD: &str =
    "SELECT d.id, d.seq, d.state, d.reason, i.turn_id, d.attempts, d.not_before, d.at, d.share_key, d.submission, d.scope,
         s.session, s.label, s.next_seq, s.fence, s.lease_owner, s.lease_until, s.stop_fence, s.ready_at, s.running_turn,
         s.next_workspace
     FROM session_leases s
     LEFT JOIN dispatches d ON d.session = s.session AND d.state IN ('pending', 'running')
     LEFT JOIN turn_inputs i ON i.dispatch_id = d.id
     WHERE s.session = ?1 ORDER BY d.seq";
const SAVE: &str =
    "INSERT INTO session_leases (session, label, next_seq, fence, lease_owner, lease_until, stop_fence, ready_at,
         running_turn, next_workspace)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
     ON CONFLICT (session) DO UPDATE SET label = excluded.label, next_seq = excluded.next_seq,
         fence = excluded.fence, lease_owner = excluded.lease_owner, lease_until = excluded.lease_until,
         stop_fence = excluded.stop_fence, ready_at = excluded.ready_at, running_turn = excluded.running_turn,
         next_workspace = excluded.next_workspace";

/// The state of one session; `None` when nothing was ever submitted to it.
pub(super) fn load(tx: &mut dyn Transaction, session: &SessionId) -> Result<Option<SessionState>, StorageError> {
    let found = tx.query(&statement!(LOAD, session))?;
    let Some(record) = found.first() else { return Ok(None) };
    let mut state = lease_row(record)?;
    for record in &found {
        // A session in which nothing waits has one row without a dispatch.
        if record.optional_text(0)?.is_some() {
            state.open.push(entry(record)?);
        }
    }
    Ok(Some(state))
}

fn lease_row(record: &Record) -> Result<SessionState, StorageError> {
    let at = ENTRY_COLUMNS;
    Ok(SessionState {
        session: SessionId::new(record.text(at)?),
        label: record.text(at + 1)?.to_owned(),
        next_seq: record.unsigned(at + 2)?,
        fence: record.unsigned(at + 3)?,
        owner: record.optional_text(at + 4)?.map(str::to_owned),
        lease_until_ms: record.unsigned(at + 5)?,
        stop_fence: record.optional_unsigned(at + 6)?,
        ready_at_ms: record.optional_unsigned(at + 7)?,
        turn: record.optional_text(at + 8)?.map(TurnId::new),
        next_workspace: record.optional_text(at + 9)?.map(str::to_owned),
        open: Vec::new(),
    })
}

/// One dispatch and the label of its session.
pub(super) fn find(
    tx: &mut dyn Transaction,
    id: &DispatchId,
) -> Result<Option<(SessionId, StoredDispatch)>, StorageError> {
    let found = tx.query(&statement!(
        format!(
            "SELECT {ENTRY}, d.session FROM dispatches d LEFT JOIN turn_inputs i ON i.dispatch_id = d.id WHERE d.id = ?1"
        ),
        id.as_str()
    ))?;
    found.first().map(|record| Ok((SessionId::new(record.text(ENTRY_COLUMNS)?), entry(record)?))).transpose()
}

/// The dispatch that a sender's own id names.
pub(super) fn find_external(
    tx: &mut dyn Transaction,
    session: &SessionId,
    external_id: &str,
) -> Result<Option<StoredDispatch>, StorageError> {
    let found = tx.query(&statement!(
        format!(
            "SELECT {ENTRY} FROM dispatches d LEFT JOIN turn_inputs i ON i.dispatch_id = d.id
             WHERE d.session = ?1 AND d.external_id = ?2"
        ),
        session,
        external_id
    ))?;
    found.first().map(entry).transpose()
}

/// A record that begins with the columns of an entry.
pub(super) fn entry(record: &Record) -> Result<StoredDispatch, StorageError> {
    let unreadable = |error: serde_json::Error| StorageError::Corrupt(format!("a dispatch cannot be read: {error}"));
    let submission: Submission = serde_json::from_str(record.text(9)?).map_err(unreadable)?;
    let scope = record.optional_text(10)?.map(serde_json::from_str).transpose().map_err(unreadable)?;
    Ok(StoredDispatch {
        id: DispatchId::new(record.text(0)?),
        seq: record.unsigned(1)?,
        state: state(record.text(2)?)?,
        reason: record.text(3)?.to_owned(),
        turn: record.optional_text(4)?.map(TurnId::new),
        attempts: u32::try_from(record.unsigned(5)?).unwrap_or(u32::MAX),
        not_before_ms: record.unsigned(6)?,
        at_ms: record.unsigned(7)?,
        partition: record.text(8)?.to_owned(),
        submission,
        scope,
    })
}

fn state(word: &str) -> Result<DispatchState, StorageError> {
    use DispatchState::{Cancelled, Done, Parked, Pending, Refused, Running, Superseded};
    let all = [Pending, Running, Done, Superseded, Refused, Parked, Cancelled];
    let known = all.into_iter().find(|state| state.word() == word);
    known.ok_or_else(|| StorageError::Corrupt(format!("a dispatch is in the unknown state `{word}`")))
}

/// Writes the lease part of a state.
pub(super) fn save(tx: &mut dyn Transaction, state: &SessionState) -> Result<(), StorageError> {
    tx.execute_later(statement!(
        SAVE,
        &state.session,
        &state.label,
        state.next_seq,
        state.fence,
        state.owner.as_deref(),
        state.lease_until_ms,
        state.stop_fence,
        state.ready_at_ms,
        state.turn.as_ref(),
        state.next_workspace.as_deref()
    ))
}

/// Writes a new dispatch.
pub(super) fn insert(
    tx: &mut dyn Transaction,
    session: &SessionId,
    entry: &StoredDispatch,
) -> Result<(), StorageError> {
    tx.execute_later(statement!(
        "INSERT INTO dispatches
             (id, session, seq, external_id, state, reason, attempts, not_before, at, share_key, submission, scope)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        entry.id.as_str(),
        session,
        entry.seq,
        entry.submission.id.as_deref(),
        entry.state.word(),
        &entry.reason,
        entry.attempts,
        entry.not_before_ms,
        entry.at_ms,
        &entry.partition,
        json(&entry.submission)?,
        entry.scope.as_ref().map(json).transpose()?
    ))
}

fn json(value: &impl Serialize) -> Result<String, StorageError> {
    serde_json::to_string(value).map_err(|error| StorageError::GivenUp(format!("the input cannot be written: {error}")))
}

/// Writes where a dispatch belongs now.
pub(super) fn relocate(tx: &mut dyn Transaction, entry: &StoredDispatch) -> Result<(), StorageError> {
    tx.execute(&statement!(
        "UPDATE dispatches SET share_key = ?2, submission = ?3, scope = ?4 WHERE id = ?1",
        entry.id.as_str(),
        &entry.partition,
        json(&entry.submission)?,
        entry.scope.as_ref().map(json).transpose()?
    ))?;
    Ok(())
}

/// Writes what changed of dispatches that are there. The key of `turn_inputs` is what makes sure that
/// no two turns ever consume the same one.
pub(super) fn update<'a>(
    tx: &mut dyn Transaction,
    entries: impl IntoIterator<Item = &'a StoredDispatch>,
) -> Result<(), StorageError> {
    for entry in entries {
        tx.execute_later(statement!(
            "UPDATE dispatches SET state = ?2, reason = ?3, attempts = ?4, not_before = ?5 WHERE id = ?1",
            entry.id.as_str(),
            entry.state.word(),
            &entry.reason,
            entry.attempts,
            entry.not_before_ms
        ))?;
    }
    Ok(())
}

/// Ties an input to the turn that consumes it; fails when another turn did.
pub(super) fn consume(tx: &mut dyn Transaction, dispatch: &DispatchId, turn: &TurnId) -> Result<(), StorageError> {
    let insert = "INSERT INTO turn_inputs (dispatch_id, turn_id) VALUES (?1, ?2)";
    tx.execute_later(statement!(insert, dispatch.as_str(), turn))
}

/// Unties an input from the turn that was begun for it and did nothing, so that another can take it.
pub(super) fn untie(tx: &mut dyn Transaction, dispatch: &DispatchId) -> Result<(), StorageError> {
    tx.execute(&statement!("DELETE FROM turn_inputs WHERE dispatch_id = ?1", dispatch.as_str()))?;
    Ok(())
}

/// Unties the inputs of a turn that did nothing.
pub(super) fn unconsume(tx: &mut dyn Transaction, turn: &TurnId) -> Result<(), StorageError> {
    tx.execute(&statement!("DELETE FROM turn_inputs WHERE turn_id = ?1", turn))?;
    Ok(())
}
