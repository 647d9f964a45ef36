//! The transactions of the queue: each loads a session's state, changes it and writes it back, together with the turn
//! that the ledger keeps.

use super::requests::{
    Admission, Admitted, Claimant, ExpiredLeases, FinishedTurn, Lease, NewRow, NextTurn, RecordedRows, SessionRest,
    StartedTurn, TurnFinish, TurnStart,
};
use super::{QueueError, outbox, tables};
use crate::contract::{CancelOutcome, DispatchId, DispatchState, DispatchView, SessionsError, Submission};
use crate::inputs::{input_rows, unknown_dispatch};
use crate::queue::{LEASE_MS, MAX_WAIT_MS, NextInput};
use crate::state::{SessionState, StoredDispatch, TurnProgress};
use dispatch_contracts::conversation::Row;
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, StorageError, Transaction};
use ext_conversation_store::contract::MAX_TITLE_CHARS;
use ext_conversation_store::contract::ledger::{self, NewSession, NewTurn, session_key};
use std::path::PathBuf;

/// The most sessions that one sweep settles.
const MAX_SWEPT: u32 = 1_000;
/// The most sessions that one claim looks at.
const MAX_CANDIDATES: u32 = 200;

fn leased(tx: &mut dyn Transaction, lease: &Lease) -> Result<SessionState, QueueError> {
    let state = tables::load(tx, &lease.session)?.ok_or(QueueError::Fenced)?;
    state.check(lease)?;
    Ok(state)
}

/// The state of a session that nobody else changes now.
fn load_free(tx: &mut dyn Transaction, session: &SessionId) -> Result<Option<SessionState>, StorageError> {
    if tx.try_lock(&session_key(session))? { tables::load(tx, session) } else { Ok(None) }
}

/// The same without what waits, for the steps that come with every row. Says whether the turn should stop.
pub(super) fn check(tx: &mut dyn Transaction, lease: &Lease) -> Result<bool, QueueError> {
    let found = tx.query(&statement!(
        "SELECT stop_fence FROM session_leases WHERE session = ?1 AND fence = ?2 AND lease_owner = ?3",
        &lease.session,
        lease.token.fence,
        lease.token.owner.as_str()
    ))?;
    let record = found.first().ok_or(QueueError::Fenced)?;
    Ok(record.optional_unsigned(0)? == Some(lease.token.fence))
}

pub(super) fn admit(tx: &mut dyn Transaction, admission: Admission) -> Result<Admitted, SessionsError> {
    let Admission { id, session, submission, scope, now_ms, claimant } = admission;
    let label = submission.session.clone();
    let session = ledger::open_session(tx, &new_session(session, &submission, now_ms))?.id;
    tx.lock(&session_key(&session))?;
    let known = match (&submission.dispatch, &submission.id) {
        (Some(_), _) => tables::find(tx, &id)?.map(|(_, known)| known),
        (None, Some(key)) => tables::find_external(tx, &session, key)?,
        (None, None) => None,
    };
    if let Some(known) = known {
        return Ok(Admitted {
            view: known.view(&label),
            session,
            fresh: false,
            lease: None,
            begun: None,
            superseded: Vec::new(),
            stops_turn: false,
            steer_obstacle: None,
        });
    }
    let known = tables::load(tx, &session)?;
    let mut state = known.unwrap_or_else(|| SessionState::new(session.clone(), label.clone()));
    state.label.clone_from(&label);
    let steer_obstacle = state.steer_obstacle(&submission, &scope);
    let stops_turn = state.stops_for(&submission);
    let mut changed = state.admit(id, submission, scope, now_ms)?;
    let taken = claimant.and_then(|(claimant, start)| Some((state.lease(&claimant, now_ms)?, start)));
    let entry = changed.pop().ok_or_else(|| StorageError::GivenUp("the input was not kept".to_owned()))?;
    tables::update(tx, &changed)?;
    let (lease, begun) = match taken {
        Some((lease, start)) => {
            let next = begin_next(tx, &mut state, &lease, start, Some(&entry)).map_err(refused)?;
            (Some(lease), next)
        }
        None => (None, NextTurn::Rest),
    };
    let begun = match begun {
        NextTurn::Turn(begun) => Some(begun),
        NextTurn::Rest => {
            tables::insert(tx, &session, &entry)?;
            tables::save(tx, &state)?;
            None
        }
    };
    let superseded = changed.iter().map(|entry| entry.view(&label)).collect();
    let view = entry.view(&label);
    Ok(Admitted { view, session, fresh: true, lease, begun, superseded, stops_turn, steer_obstacle })
}

/// What a sender is told when the turn for its input cannot begin.
fn refused(error: QueueError) -> SessionsError {
    match error {
        QueueError::Storage(error) => error.into(),
        other => StorageError::GivenUp(other.to_string()).into(),
    }
}

/// The session as its first message makes it.
fn new_session(id: SessionId, submission: &Submission, at_ms: u64) -> NewSession {
    NewSession {
        id,
        label: submission.session.clone(),
        persona: submission.persona.clone().unwrap_or_default(),
        title: Some(submission.text.chars().take(MAX_TITLE_CHARS).collect()),
        folder: submission.workdir.as_ref().map(|folder| folder.to_string_lossy().into_owned()),
        at_ms,
    }
}

/// Sends an input that waits to another folder.
pub(super) fn relocate(
    tx: &mut dyn Transaction,
    id: &DispatchId,
    folder: PathBuf,
    workspace: PathBuf,
    now_ms: u64,
) -> Result<DispatchView, SessionsError> {
    let (session, _) = tables::find(tx, id)?.ok_or_else(|| unknown_dispatch(id))?;
    tx.lock(&session_key(&session))?;
    let mut state = tables::load(tx, &session)?.ok_or_else(|| unknown_dispatch(id))?;
    let entry = state.relocate(id, folder, workspace, now_ms).ok_or_else(|| {
        SessionsError::Invalid(format!("the message {id} runs or is over; only one that waits can be moved"))
    })?;
    tables::relocate(tx, &entry)?;
    tables::save(tx, &state)?;
    Ok(entry.view(&state.label))
}

pub(super) fn begin(tx: &mut dyn Transaction, lease: &Lease, start: TurnStart) -> Result<NextTurn, QueueError> {
    let mut state = leased(tx, lease)?;
    begin_next(tx, &mut state, lease, start, None)
}

/// Begins a turn with what is due, and writes the state back if there is something, with an input that is new.
fn begin_next(
    tx: &mut dyn Transaction,
    state: &mut SessionState,
    lease: &Lease,
    start: TurnStart,
    new_input: Option<&StoredDispatch>,
) -> Result<NextTurn, QueueError> {
    let inputs = match state.next(&start.runner, start.now_ms) {
        NextInput::Start(inputs) => inputs,
        NextInput::WaitUntil(_) | NextInput::Rest => return Ok(NextTurn::Rest),
    };
    let session = ledger::load_session(tx, &lease.session)?.ok_or(QueueError::Fenced)?;
    let (fence, model) = (lease.token.fence, start.model.clone());
    let new = NewTurn { id: start.turn.clone(), fence, model, at_ms: start.now_ms };
    let rows = input_rows(&start, &inputs);
    let places = ledger::begin_turn(tx, &session, &new, &rows)?;
    let rows = places.into_iter().zip(rows).collect();
    let changed = state.begin(&start.turn, &inputs);
    let is_new = |entry: &StoredDispatch| new_input.is_some_and(|new| new.id == entry.id);
    if let Some(new) = new_input {
        tables::insert(tx, &lease.session, changed.iter().find(|entry| is_new(entry)).unwrap_or(new))?;
    }
    for entry in &changed {
        tables::consume(tx, &entry.id, &start.turn)?;
    }
    tables::update(tx, changed.iter().filter(|entry| !is_new(entry)))?;
    tables::save(tx, state)?;
    let views = changed.iter().map(|entry| entry.view(&lease.label)).collect();
    let persona = Some(session.persona).filter(|persona| !persona.is_empty());
    Ok(NextTurn::Turn(Box::new(StartedTurn { turn: start.turn, inputs, views, rows, persona })))
}

/// Stores rows in their order; with `finish`, the turn and its inputs end with them.
pub(super) fn record(
    tx: &mut dyn Transaction,
    lease: &Lease,
    rows: &[NewRow],
    turn_finish: Option<&TurnFinish>,
) -> Result<RecordedRows, QueueError> {
    let consumes = rows.iter().any(|new| new.consumes.is_some());
    let mut state = if consumes || turn_finish.is_some() { Some(leased(tx, lease)?) } else { None };
    let stop = match &state {
        Some(state) => state.stop_fence == Some(lease.token.fence),
        None => check(tx, lease)?,
    };
    if let Some(state) = state.as_mut().filter(|_| consumes) {
        consume(tx, state, rows)?;
    }
    let appended: Vec<Row> = rows.iter().map(|new| new.row.clone()).collect();
    let places = ledger::append_rows(tx, &lease.session, lease.token.fence, &appended)?;
    let finished = match (turn_finish, state) {
        (Some(turn_finish), Some(state)) => Some(finish_in(tx, state, lease, turn_finish)?),
        _ => None,
    };
    Ok(RecordedRows { places, stop, finished })
}

/// Ties the inputs that rows came from to their turn.
fn consume(tx: &mut dyn Transaction, state: &mut SessionState, rows: &[NewRow]) -> Result<(), QueueError> {
    for NewRow { row, consumes } in rows {
        let Some(id) = consumes else { continue };
        let entry = state.consume(id, &row.turn).ok_or_else(|| QueueError::TakenBack(id.clone()))?;
        tables::consume(tx, id, &row.turn)?;
        tables::update(tx, [&entry])?;
        state.refresh(row.at_ms);
    }
    Ok(tables::save(tx, state)?)
}

/// Ends the turn and its inputs, and gives the lease back if nothing is due.
pub(super) fn finish(tx: &mut dyn Transaction, lease: &Lease, finish: &TurnFinish) -> Result<FinishedTurn, QueueError> {
    let state = leased(tx, lease)?;
    finish_in(tx, state, lease, finish)
}

/// The same where the state of the session is known.
fn finish_in(
    tx: &mut dyn Transaction,
    mut state: SessionState,
    lease: &Lease,
    finish: &TurnFinish,
) -> Result<FinishedTurn, QueueError> {
    ledger::end_turn(tx, &finish.turn, lease.token.fence, &finish.end, &finish.usage, finish.now_ms)?;
    let ended = state.finish(&finish.turn, &finish.reason, finish.now_ms);
    tables::update(tx, &ended)?;
    let replies = outbox::write_reply(tx, lease, finish, &ended)?;
    let rest = match state.next(&finish.runner, finish.now_ms) {
        NextInput::Start(_) => SessionRest::Continues,
        NextInput::WaitUntil(_) | NextInput::Rest => {
            state.release(finish.now_ms);
            if state.ready_at_ms.is_some() { SessionRest::Waits } else { SessionRest::Empty }
        }
    };
    tables::save(tx, &state)?;
    Ok(FinishedTurn { ended: ended.iter().map(|entry| entry.view(&lease.label)).collect(), rest, replies })
}

pub(super) fn cancel(
    tx: &mut dyn Transaction,
    id: &DispatchId,
    now_ms: u64,
) -> Result<(CancelOutcome, DispatchView), SessionsError> {
    let (session, _) = tables::find(tx, id)?.ok_or_else(|| unknown_dispatch(id))?;
    tx.lock(&session_key(&session))?;
    // Read again: the dispatch may have ended while the key was waited for.
    let (_, entry) = tables::find(tx, id)?.ok_or_else(|| unknown_dispatch(id))?;
    let mut state = tables::load(tx, &session)?.ok_or_else(|| unknown_dispatch(id))?;
    let label = state.label.clone();
    let Some((outcome, entry)) = state.cancel(id, now_ms) else {
        return Ok((CancelOutcome::TooLate, entry.view(&label)));
    };
    tables::update(tx, [&entry])?;
    tables::save(tx, &state)?;
    Ok((outcome, entry.view(&label)))
}

/// Lets an input wait again that was set aside.
pub(super) fn retry(tx: &mut dyn Transaction, id: &DispatchId, now_ms: u64) -> Result<DispatchView, SessionsError> {
    let (session, _) = tables::find(tx, id)?.ok_or_else(|| unknown_dispatch(id))?;
    tx.lock(&session_key(&session))?;
    let (_, entry) = tables::find(tx, id)?.ok_or_else(|| unknown_dispatch(id))?;
    if entry.state != DispatchState::Parked {
        let state = entry.state.word();
        return Err(SessionsError::Invalid(format!(
            "the message {id} is {state}; only one that is parked can be retried"
        )));
    }
    let mut state = tables::load(tx, &session)?.ok_or_else(|| unknown_dispatch(id))?;
    let again = state.retry(&entry, now_ms);
    tables::untie(tx, id)?;
    tables::update(tx, std::slice::from_ref(&again))?;
    tables::save(tx, &state)?;
    Ok(again.view(&state.label))
}

pub(super) fn sweep(tx: &mut dyn Transaction, dead: &[String], now_ms: u64) -> Result<ExpiredLeases, QueueError> {
    let held = tx.query(&statement!(
        "SELECT session FROM session_leases WHERE lease_owner IS NOT NULL ORDER BY lease_until LIMIT ?1",
        MAX_SWEPT
    ))?;
    let mut swept = ExpiredLeases::default();
    for record in held {
        let Some(mut state) = load_free(tx, &SessionId::new(record.text(0)?))? else { continue };
        if state.is_abandoned(dead, now_ms) {
            let changed = settle(tx, &mut state, now_ms)?;
            swept.add(changed.iter().map(|entry| entry.view(&state.label)).collect());
        } else if state.shorten_lease(LEASE_MS, now_ms) {
            tables::save(tx, &state)?;
        }
    }
    Ok(swept)
}

fn settle(tx: &mut dyn Transaction, state: &mut SessionState, now_ms: u64) -> Result<Vec<StoredDispatch>, QueueError> {
    let progress = match &state.turn {
        Some(turn) if !ledger::has_only_input(tx, turn)? => TurnProgress::Something,
        _ => TurnProgress::Nothing,
    };
    let abandoned = state.abandon(progress, now_ms);
    if let Some(turn) = &abandoned.turn {
        ledger::sweep(tx, std::slice::from_ref(turn), now_ms)?;
        if abandoned.undone {
            ledger::step_back(tx, &state.session, turn)?;
            tables::unconsume(tx, turn)?;
        }
    }
    tables::update(tx, &abandoned.changed)?;
    tables::save(tx, state)?;
    Ok(abandoned.changed)
}

pub(super) fn claim(
    tx: &mut dyn Transaction,
    claimant: &Claimant,
    now_ms: u64,
    limit: u32,
) -> Result<Vec<Lease>, QueueError> {
    // Of the sessions of its workspace a process may have to leave some: they need more extensions than it has.
    let ready = tx.query(&statement!(
        "SELECT session FROM session_leases
         WHERE (ready_at <= ?1 OR ready_at > ?2) AND next_workspace = ?3 AND lease_owner IS NULL
         ORDER BY ready_at LIMIT ?4",
        now_ms,
        now_ms.saturating_add(MAX_WAIT_MS),
        claimant.runner.workspace.to_string_lossy().into_owned(),
        MAX_CANDIDATES
    ))?;
    let mut leases = Vec::new();
    for record in ready {
        if leases.len() as u64 >= u64::from(limit) {
            break;
        }
        let Some(mut state) = load_free(tx, &SessionId::new(record.text(0)?))? else { continue };
        if let Some(lease) = state.lease(claimant, now_ms) {
            tables::save(tx, &state)?;
            leases.push(lease);
        }
    }
    Ok(leases)
}

/// Keeps a lease; answers whether its turn should stop.
pub(super) fn renew(tx: &mut dyn Transaction, lease: &Lease, until_ms: u64) -> Result<bool, QueueError> {
    let stop = check(tx, lease)?;
    let renew = "UPDATE session_leases SET lease_until = ?2 WHERE session = ?1";
    tx.execute(&statement!(renew, &lease.session, until_ms))?;
    Ok(stop)
}

pub(super) fn release(tx: &mut dyn Transaction, lease: &Lease, now_ms: u64) -> Result<(), QueueError> {
    let mut state = leased(tx, lease)?;
    state.release(now_ms);
    Ok(tables::save(tx, &state)?)
}
