//! The book in storage: each step loads a session's state, changes it and writes it back in one
//! transaction, together with the turn that the ledger keeps.

use super::{
    Admission, Admitted, Beginning, Begun, Book, BookError, Claimant, Finish, Lease, Recorded, Start, Swept, tables,
};
use crate::contract::{CancelOutcome, DispatchId, DispatchView, SessionsError};
use crate::inputs::{input_rows, unknown_dispatch};
use crate::queue::{self, Next, Waiting};
use crate::state::{Entry, Progress, SessionState};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Message, Row};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Storage, StorageError, Transaction};
use ext_conversation_store::contract::ledger::{self, NewTurn};
use ext_conversation_store::contract::{Conversations, MAX_PAGE};
use std::sync::{Arc, Mutex, PoisonError};

/// The most sessions that one sweep settles.
const MAX_SWEPT: u32 = 1_000;

/// The book over a store that reaches the queue's tables and the ledger's.
pub(crate) struct SqlBook {
    storage: Arc<dyn Storage>,
    conversations: Arc<dyn Conversations>,
}

impl SqlBook {
    pub(crate) fn new(storage: Arc<dyn Storage>, conversations: Arc<dyn Conversations>) -> Self {
        Self { storage, conversations }
    }

    /// Runs one step. A refusal rolls back as a failure does, and is handed out as it is.
    async fn step<T, E>(&self, work: impl FnOnce(&mut dyn Transaction) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StorageError> + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let inner = Arc::clone(&slot);
        let done = self
            .storage
            .transact(Box::new(move |tx| {
                let outcome = work(tx);
                let refused = outcome.is_err();
                *inner.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
                if refused { Err(StorageError::GivenUp("the step was refused".to_owned())) } else { Ok(Vec::new()) }
            }))
            .await;
        let outcome = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (outcome, done) {
            (Some(Err(refused)), _) => Err(refused),
            (_, Err(error)) => Err(error.into()),
            (Some(Ok(value)), Ok(_)) => Ok(value),
            (None, Ok(_)) => Err(StorageError::GivenUp("the step did not run".to_owned()).into()),
        }
    }
}

impl From<StorageError> for SessionsError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error.to_string())
    }
}

fn leased(tx: &mut dyn Transaction, lease: &Lease) -> Result<SessionState, BookError> {
    let state = tables::load(tx, &lease.session)?.ok_or(BookError::Fenced)?;
    state.check(lease)?;
    Ok(state)
}

/// The same without what waits, for the steps that come with every row.
fn check(tx: &mut dyn Transaction, lease: &Lease) -> Result<Recorded, BookError> {
    let found = tx.query(&statement!(
        "SELECT stop_fence FROM session_leases WHERE session = ?1 AND fence = ?2 AND lease_owner = ?3",
        &lease.session,
        lease.fence,
        lease.owner.as_str()
    ))?;
    let record = found.first().ok_or(BookError::Fenced)?;
    Ok(Recorded { seq: 0, stop: record.optional_unsigned(0)? == Some(lease.fence) })
}

fn admit(tx: &mut dyn Transaction, admission: Admission) -> Result<Admitted, SessionsError> {
    let Admission { id, session, submission, now_ms, claimant } = admission;
    let persona = submission.persona.clone().unwrap_or_default();
    let label = submission.session.clone();
    let session = ledger::open_session(tx, &session, &label, &persona, now_ms)?.id;
    if let Some(key) = &submission.id
        && let Some(known) = tables::find_external(tx, &session, key)?
    {
        return Ok(Admitted { view: known.view(&label), session, fresh: false, lease: None, superseded: Vec::new() });
    }
    let known = tables::load(tx, &session)?;
    let mut state = known.unwrap_or_else(|| SessionState::new(session.clone(), label.clone()));
    state.label.clone_from(&label);
    let mut changed = state.admit(id, submission, now_ms)?;
    let lease = claimant.and_then(|claimant| state.lease(&claimant, now_ms));
    let entry = changed.pop().ok_or_else(|| SessionsError::Storage("the input was not kept".to_owned()))?;
    tables::insert(tx, &session, &entry)?;
    tables::update(tx, &changed)?;
    tables::save(tx, &state)?;
    let superseded = changed.iter().map(|entry| entry.view(&label)).collect();
    Ok(Admitted { view: entry.view(&label), session, fresh: true, lease, superseded })
}

fn begin(tx: &mut dyn Transaction, lease: &Lease, start: Start) -> Result<Beginning, BookError> {
    let mut state = leased(tx, lease)?;
    let inputs = match state.next(start.now_ms) {
        Next::Start(inputs) => inputs,
        Next::WaitUntil(_) | Next::Rest => return Ok(Beginning::Rest),
    };
    let session = ledger::load_session(tx, &lease.session)?.ok_or(BookError::Fenced)?;
    let new = NewTurn {
        id: start.turn.clone(),
        session: lease.session.clone(),
        parent: session.head,
        fence: lease.fence,
        model: start.model.clone(),
        at_ms: start.now_ms,
    };
    ledger::begin_turn(tx, &new)?;
    ledger::set_head(tx, &lease.session, &start.turn)?;
    let changed = state.begin(&start.turn, &inputs);
    for entry in &changed {
        tables::consume(tx, &entry.id, &start.turn)?;
    }
    tables::update(tx, &changed)?;
    tables::save(tx, &state)?;
    let mut rows = Vec::new();
    for row in input_rows(&start, &inputs) {
        rows.push((ledger::append_row(tx, &lease.session, lease.fence, &row)?, row));
    }
    let views = changed.iter().map(|entry| entry.view(&lease.label)).collect();
    let persona = Some(session.persona).filter(|persona| !persona.is_empty());
    Ok(Beginning::Turn(Box::new(Begun { turn: start.turn, inputs, views, rows, persona })))
}

fn record(
    tx: &mut dyn Transaction,
    lease: &Lease,
    row: &Row,
    consumes: Option<&DispatchId>,
) -> Result<Recorded, BookError> {
    let mut recorded = check(tx, lease)?;
    if let Some(id) = consumes {
        let mut state = leased(tx, lease)?;
        let entry = state.consume(id, &row.turn).ok_or(BookError::TakenBack)?;
        tables::consume(tx, id, &row.turn)?;
        tables::update(tx, &[entry])?;
        state.refresh(row.at_ms);
        tables::save(tx, &state)?;
    }
    recorded.seq = ledger::append_row(tx, &lease.session, lease.fence, row)?;
    Ok(recorded)
}

fn finish(tx: &mut dyn Transaction, lease: &Lease, finish: &Finish) -> Result<Vec<DispatchView>, BookError> {
    let mut state = leased(tx, lease)?;
    ledger::end_turn(tx, &finish.turn, lease.fence, &finish.end, &finish.usage, finish.now_ms)?;
    let ended = state.finish(&finish.turn, &finish.reason, finish.now_ms);
    tables::update(tx, &ended)?;
    tables::save(tx, &state)?;
    Ok(ended.iter().map(|entry| entry.view(&lease.label)).collect())
}

fn cancel(
    tx: &mut dyn Transaction,
    id: &DispatchId,
    now_ms: u64,
) -> Result<(CancelOutcome, DispatchView), SessionsError> {
    let (session, entry) = tables::find(tx, id)?.ok_or_else(|| unknown_dispatch(id))?;
    let mut state = tables::load(tx, &session)?.ok_or_else(|| unknown_dispatch(id))?;
    let label = state.label.clone();
    let Some((outcome, entry)) = state.cancel(id, now_ms) else {
        return Ok((CancelOutcome::TooLate, entry.view(&label)));
    };
    tables::update(tx, std::slice::from_ref(&entry))?;
    tables::save(tx, &state)?;
    Ok((outcome, entry.view(&label)))
}

fn sweep(tx: &mut dyn Transaction, dead: &[String], now_ms: u64) -> Result<Swept, BookError> {
    let held = tx.query(&statement!(
        "SELECT session FROM session_leases WHERE lease_owner IS NOT NULL ORDER BY lease_until LIMIT ?1",
        MAX_SWEPT
    ))?;
    let mut swept = Swept::default();
    for record in held {
        let Some(mut state) = tables::load(tx, &SessionId::new(record.text(0)?))? else { continue };
        if state.is_abandoned(dead, now_ms) {
            let changed = settle(tx, &mut state, now_ms)?;
            swept.add(changed.iter().map(|entry| entry.view(&state.label)).collect());
        }
    }
    Ok(swept)
}

fn settle(tx: &mut dyn Transaction, state: &mut SessionState, now_ms: u64) -> Result<Vec<Entry>, BookError> {
    let progress = match &state.turn {
        Some(turn) if has_done_something(tx, turn)? => Progress::Something,
        _ => Progress::Nothing,
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

/// Whether anything but the input of a turn was stored.
fn has_done_something(tx: &mut dyn Transaction, turn: &TurnId) -> Result<bool, BookError> {
    let found = tx.query(&statement!(
        "SELECT (SELECT COUNT(*) FROM agent_messages WHERE turn = ?1),
                (SELECT COUNT(*) FROM agent_messages WHERE turn = ?1 AND step = 0 AND kind = 'chunk'
                 AND body LIKE '%\"role\":\"user\"%')",
        turn
    ))?;
    let Some(record) = found.first() else { return Ok(true) };
    Ok(record.unsigned(0)? != record.unsigned(1)?)
}

fn claim(tx: &mut dyn Transaction, claimant: &Claimant, now_ms: u64, limit: u32) -> Result<Vec<Lease>, BookError> {
    let ready = tx.query(&statement!(
        "SELECT session FROM session_leases WHERE ready_at <= ?1 AND lease_owner IS NULL ORDER BY ready_at LIMIT ?2",
        now_ms,
        limit
    ))?;
    let mut leases = Vec::new();
    for record in ready {
        let Some(mut state) = tables::load(tx, &SessionId::new(record.text(0)?))? else { continue };
        if let Some(lease) = state.lease(claimant, now_ms) {
            tables::save(tx, &state)?;
            leases.push(lease);
        }
    }
    Ok(leases)
}

impl Book for SqlBook {
    fn admit(&self, admission: Admission) -> BoxFuture<'_, Result<Admitted, SessionsError>> {
        Box::pin(self.step(move |tx| admit(tx, admission)))
    }

    fn claim(&self, claimant: Claimant, now_ms: u64, limit: u32) -> BoxFuture<'_, Result<Vec<Lease>, BookError>> {
        Box::pin(self.step(move |tx| claim(tx, &claimant, now_ms, limit)))
    }

    fn renew<'a>(&'a self, lease: &'a Lease, until_ms: u64) -> BoxFuture<'a, Result<bool, BookError>> {
        let lease = lease.clone();
        Box::pin(self.step(move |tx| {
            let stop = check(tx, &lease)?.stop;
            let renew = "UPDATE session_leases SET lease_until = ?2 WHERE session = ?1";
            tx.execute(&statement!(renew, &lease.session, until_ms))?;
            Ok(stop)
        }))
    }

    fn history<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<Vec<Message>, BookError>> {
        Box::pin(async move {
            let history = self.conversations.history(&lease.label).await;
            history.map(|history| history.messages).map_err(|error| BookError::Storage(error.to_string()))
        })
    }

    fn begin<'a>(&'a self, lease: &'a Lease, start: Start) -> BoxFuture<'a, Result<Beginning, BookError>> {
        let lease = lease.clone();
        Box::pin(self.step(move |tx| begin(tx, &lease, start)))
    }

    fn steers<'a>(&'a self, lease: &'a Lease, partition: &'a str) -> BoxFuture<'a, Result<Vec<Waiting>, BookError>> {
        Box::pin(async move {
            let query = statement!(
                format!(
                    "SELECT {} FROM dispatches d LEFT JOIN turn_inputs i ON i.dispatch_id = d.id
                     WHERE d.session = ?1 AND d.state = 'pending' ORDER BY d.seq",
                    tables::ENTRY
                ),
                &lease.session
            );
            let found = self.storage.query(query).await?;
            let waiting: Vec<Waiting> = found
                .iter()
                .map(|record| tables::entry(record).map(|entry| entry.waiting()))
                .collect::<Result<_, _>>()?;
            Ok(queue::steers(&waiting, partition).cloned().collect())
        })
    }

    fn record<'a>(
        &'a self,
        lease: &'a Lease,
        row: &'a Row,
        consumes: Option<&'a DispatchId>,
    ) -> BoxFuture<'a, Result<Recorded, BookError>> {
        let (lease, row, consumes) = (lease.clone(), row.clone(), consumes.cloned());
        Box::pin(self.step(move |tx| record(tx, &lease, &row, consumes.as_ref())))
    }

    fn finish<'a>(&'a self, lease: &'a Lease, ending: Finish) -> BoxFuture<'a, Result<Vec<DispatchView>, BookError>> {
        let lease = lease.clone();
        Box::pin(self.step(move |tx| finish(tx, &lease, &ending)))
    }

    fn release<'a>(&'a self, lease: &'a Lease, now_ms: u64) -> BoxFuture<'a, Result<(), BookError>> {
        let lease = lease.clone();
        Box::pin(self.step(move |tx| {
            let mut state = leased(tx, &lease)?;
            state.release(now_ms);
            Ok(tables::save(tx, &state)?)
        }))
    }

    fn next_due(&self) -> BoxFuture<'_, Result<Option<u64>, BookError>> {
        Box::pin(async move {
            let query = "SELECT MIN(ready_at) FROM session_leases WHERE ready_at IS NOT NULL AND lease_owner IS NULL";
            let found = self.storage.query(statement!(query)).await?;
            Ok(found.first().map(|record| record.optional_unsigned(0)).transpose()?.flatten())
        })
    }

    fn cancel<'a>(
        &'a self,
        id: &'a DispatchId,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<(CancelOutcome, DispatchView), SessionsError>> {
        let id = id.clone();
        Box::pin(self.step(move |tx| cancel(tx, &id, now_ms)))
    }

    fn dispatch<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>> {
        Box::pin(async move {
            let query = statement!(
                format!(
                    "SELECT {}, s.label FROM dispatches d LEFT JOIN turn_inputs i ON i.dispatch_id = d.id
                     JOIN session_leases s ON s.session = d.session WHERE d.id = ?1",
                    tables::ENTRY
                ),
                id.as_str()
            );
            let found = self.storage.query(query).await?;
            let record = found.first().ok_or_else(|| unknown_dispatch(id))?;
            Ok(tables::entry(record)?.view(record.text(10)?))
        })
    }

    fn queue<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<DispatchView>, SessionsError>> {
        Box::pin(async move {
            let query = statement!(
                format!(
                    "SELECT {}, s.label FROM dispatches d LEFT JOIN turn_inputs i ON i.dispatch_id = d.id
                     JOIN session_leases s ON s.session = d.session
                     WHERE d.state IN ('pending', 'running') AND (?1 IS NULL OR s.label = ?1)
                     ORDER BY s.label, d.seq LIMIT ?2",
                    tables::ENTRY
                ),
                session,
                MAX_PAGE
            );
            let found = self.storage.query(query).await?;
            found.iter().map(|record| Ok(tables::entry(record)?.view(record.text(10)?))).collect()
        })
    }

    fn rows_after<'a>(&'a self, label: &'a str, seq: u64) -> BoxFuture<'a, Result<Vec<(u64, Row)>, SessionsError>> {
        let failed =
            |error: ext_conversation_store::contract::ConversationError| SessionsError::Storage(error.to_string());
        Box::pin(async move {
            let Some(session) = self.conversations.session(label).await.map_err(failed)? else { return Ok(Vec::new()) };
            let rows = self.conversations.rows_after(&session.id, seq, MAX_PAGE).await.map_err(failed)?;
            Ok(rows.into_iter().map(|stored| (stored.seq, stored.row)).collect())
        })
    }

    fn last_place<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<u64, SessionsError>> {
        Box::pin(async move {
            let session = self.conversations.session(label).await;
            let session = session.map_err(|error| SessionsError::Storage(error.to_string()))?;
            Ok(session.map_or(0, |session| session.last_seq))
        })
    }

    fn owners(&self) -> BoxFuture<'_, Result<Vec<String>, BookError>> {
        Box::pin(async move {
            let query = "SELECT DISTINCT lease_owner FROM session_leases WHERE lease_owner IS NOT NULL";
            let found = self.storage.query(statement!(query)).await?;
            Ok(found.iter().map(|record| record.text(0).map(str::to_owned)).collect::<Result<_, _>>()?)
        })
    }

    fn sweep<'a>(&'a self, dead: &'a [String], now_ms: u64) -> BoxFuture<'a, Result<Swept, BookError>> {
        let dead = dead.to_vec();
        Box::pin(self.step(move |tx| sweep(tx, &dead, now_ms)))
    }
}
