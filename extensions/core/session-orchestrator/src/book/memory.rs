//! The book in memory: the floor when there is no storage, and the store that simulations run on.

use super::{Admission, Admitted, Beginning, Begun, Book, BookError, Claimant, Finish, Lease, Recorded, Start, Swept};
use crate::contract::{CancelOutcome, DispatchId, DispatchView, SessionsError};
use crate::inputs::{input_rows, unknown_dispatch};
use crate::queue::{self, Next, Waiting};
use crate::state::{Entry, Progress, SessionState};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Message, Role, Row, RowBody};
use dispatch_contracts::ids::{SessionId, TurnId};
use dispatch_kernel::reconcile::history;
use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sessions, dispatches and rows of this process.
#[derive(Default)]
pub(crate) struct MemoryBook {
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    sessions: BTreeMap<SessionId, SessionState>,
    labels: BTreeMap<String, SessionId>,
    personas: BTreeMap<SessionId, Option<String>>,
    external: BTreeMap<(SessionId, String), DispatchId>,
    entries: BTreeMap<DispatchId, (SessionId, Entry)>,
    rows: BTreeMap<SessionId, Vec<Row>>,
    /// Turns that were undone: their rows stay in the stream and leave the history.
    undone: Vec<TurnId>,
}

impl MemoryBook {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn leased(&mut self, lease: &Lease) -> Result<&mut SessionState, BookError> {
        let state = self.sessions.get_mut(&lease.session).ok_or(BookError::Fenced)?;
        state.check(lease)?;
        Ok(state)
    }

    fn keep(&mut self, session: &SessionId, changed: Vec<Entry>) -> Vec<DispatchView> {
        let label = self.sessions.get(session).map(|state| state.label.clone()).unwrap_or_default();
        let views = changed.iter().map(|entry| entry.view(&label)).collect();
        for entry in changed {
            self.entries.insert(entry.id.clone(), (session.clone(), entry));
        }
        views
    }

    fn append(&mut self, session: &SessionId, row: Row) -> u64 {
        let rows = self.rows.entry(session.clone()).or_default();
        rows.push(row);
        rows.len() as u64
    }

    fn admit(&mut self, admission: Admission) -> Result<Admitted, SessionsError> {
        let Admission { id, session, submission, now_ms, claimant } = admission;
        let label = submission.session.clone();
        let session = self.labels.entry(label.clone()).or_insert(session).clone();
        let key = submission.id.clone().map(|key| (session.clone(), key));
        if let Some((_, known)) =
            key.as_ref().and_then(|key| self.external.get(key)).and_then(|known| self.entries.get(known))
        {
            let view = known.view(&label);
            return Ok(Admitted { view, session, fresh: false, lease: None, superseded: Vec::new() });
        }
        self.personas.entry(session.clone()).or_insert_with(|| submission.persona.clone());
        let fresh = || SessionState::new(session.clone(), label.clone());
        let state = self.sessions.entry(session.clone()).or_insert_with(fresh);
        let changed = state.admit(id.clone(), submission, now_ms)?;
        let lease = claimant.and_then(|claimant| state.lease(&claimant, now_ms));
        self.external.extend(key.map(|key| (key, id)));
        let mut views = self.keep(&session, changed);
        let view = views.pop().ok_or_else(|| SessionsError::Storage("the input was not kept".to_owned()))?;
        Ok(Admitted { view, session, fresh: true, lease, superseded: views })
    }

    fn begin(&mut self, lease: &Lease, start: &Start) -> Result<Beginning, BookError> {
        let state = self.leased(lease)?;
        let inputs = match state.next(start.now_ms) {
            Next::Start(inputs) => inputs,
            Next::WaitUntil(_) | Next::Rest => return Ok(Beginning::Rest),
        };
        let changed = state.begin(&start.turn, &inputs);
        let views = self.keep(&lease.session, changed);
        let rows = input_rows(start, &inputs).into_iter();
        let rows = rows.map(|row| (self.append(&lease.session, row.clone()), row)).collect();
        let persona = self.personas.get(&lease.session).cloned().flatten();
        Ok(Beginning::Turn(Box::new(Begun { turn: start.turn.clone(), inputs, views, rows, persona })))
    }

    fn record(&mut self, lease: &Lease, row: &Row, consumes: Option<&DispatchId>) -> Result<Recorded, BookError> {
        let state = self.leased(lease)?;
        let stop = state.should_stop(lease);
        if let Some(id) = consumes {
            let entry = state.consume(id, &row.turn).ok_or(BookError::TakenBack)?;
            self.keep(&lease.session, vec![entry]);
        }
        Ok(Recorded { seq: self.append(&lease.session, row.clone()), stop })
    }

    fn cancel(&mut self, id: &DispatchId, now_ms: u64) -> Result<(CancelOutcome, DispatchView), SessionsError> {
        let (session, entry) = self.entries.get(id).cloned().ok_or_else(|| unknown_dispatch(id))?;
        let state = self.sessions.get_mut(&session).ok_or_else(|| unknown_dispatch(id))?;
        let label = state.label.clone();
        match state.cancel(id, now_ms) {
            None => Ok((CancelOutcome::TooLate, entry.view(&label))),
            Some((outcome, entry)) => {
                let view = entry.view(&label);
                self.keep(&session, vec![entry]);
                Ok((outcome, view))
            }
        }
    }

    fn sweep(&mut self, dead: &[String], now_ms: u64) -> Swept {
        let mut swept = Swept::default();
        let lost = |state: &&SessionState| state.is_abandoned(dead, now_ms);
        let lost: Vec<SessionId> = self.sessions.values().filter(lost).map(|it| it.session.clone()).collect();
        for session in lost {
            let Some(state) = self.sessions.get_mut(&session) else { continue };
            let rows = self.rows.get(&session).map_or(&[][..], Vec::as_slice);
            let progress = state.turn.as_ref().map_or(Progress::Nothing, |turn| progress(rows, turn));
            let abandoned = state.abandon(progress, now_ms);
            self.undone.extend(abandoned.turn.filter(|_| abandoned.undone));
            swept.add(self.keep(&session, abandoned.changed));
        }
        swept
    }
}

/// Whether anything but the input of a turn was stored.
fn progress(rows: &[Row], turn: &TurnId) -> Progress {
    let input = |row: &Row| matches!(row.body, RowBody::Chunk { role: Role::User, .. });
    if rows.iter().filter(|row| row.turn == *turn).all(input) { Progress::Nothing } else { Progress::Something }
}

impl Book for MemoryBook {
    fn admit(&self, admission: Admission) -> BoxFuture<'_, Result<Admitted, SessionsError>> {
        Box::pin(ready(self.shelf().admit(admission)))
    }

    fn claim(&self, claimant: Claimant, now_ms: u64, limit: u32) -> BoxFuture<'_, Result<Vec<Lease>, BookError>> {
        let mut shelf = self.shelf();
        let leases = shelf.sessions.values_mut().filter_map(|state| state.lease(&claimant, now_ms));
        Box::pin(ready(Ok(leases.take(limit as usize).collect())))
    }

    fn renew<'a>(&'a self, lease: &'a Lease, until_ms: u64) -> BoxFuture<'a, Result<bool, BookError>> {
        let renewed = self.shelf().leased(lease).map(|state| {
            state.lease_until_ms = until_ms;
            state.should_stop(lease)
        });
        Box::pin(ready(renewed))
    }

    fn history<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<Vec<Message>, BookError>> {
        let mut shelf = self.shelf();
        let allowed = shelf.leased(lease).map(drop);
        let rows = shelf.rows.get(&lease.session).into_iter().flatten();
        let kept: Vec<Row> = rows.filter(|row| !shelf.undone.contains(&row.turn)).cloned().collect();
        Box::pin(ready(allowed.map(|()| history(&kept))))
    }

    fn begin<'a>(&'a self, lease: &'a Lease, start: Start) -> BoxFuture<'a, Result<Beginning, BookError>> {
        Box::pin(ready(self.shelf().begin(lease, &start)))
    }

    fn steers<'a>(&'a self, lease: &'a Lease, partition: &'a str) -> BoxFuture<'a, Result<Vec<Waiting>, BookError>> {
        let waiting = self.shelf().leased(lease).map(|state| state.waiting());
        Box::pin(ready(waiting.map(|waiting| queue::steers(&waiting, partition).cloned().collect())))
    }

    fn record<'a>(
        &'a self,
        lease: &'a Lease,
        row: &'a Row,
        consumes: Option<&'a DispatchId>,
    ) -> BoxFuture<'a, Result<Recorded, BookError>> {
        Box::pin(ready(self.shelf().record(lease, row, consumes)))
    }

    fn finish<'a>(&'a self, lease: &'a Lease, finish: Finish) -> BoxFuture<'a, Result<Vec<DispatchView>, BookError>> {
        let mut shelf = self.shelf();
        let ended = shelf.leased(lease).map(|state| state.finish(&finish.turn, &finish.reason, finish.now_ms));
        Box::pin(ready(ended.map(|ended| shelf.keep(&lease.session, ended))))
    }

    fn release<'a>(&'a self, lease: &'a Lease, now_ms: u64) -> BoxFuture<'a, Result<(), BookError>> {
        Box::pin(ready(self.shelf().leased(lease).map(|state| state.release(now_ms))))
    }

    fn next_due(&self) -> BoxFuture<'_, Result<Option<u64>, BookError>> {
        let shelf = self.shelf();
        let free = shelf.sessions.values().filter(|state| state.owner.is_none());
        Box::pin(ready(Ok(free.filter_map(|state| state.ready_at_ms).min())))
    }

    fn cancel<'a>(
        &'a self,
        id: &'a DispatchId,
        now_ms: u64,
    ) -> BoxFuture<'a, Result<(CancelOutcome, DispatchView), SessionsError>> {
        Box::pin(ready(self.shelf().cancel(id, now_ms)))
    }

    fn dispatch<'a>(&'a self, id: &'a DispatchId) -> BoxFuture<'a, Result<DispatchView, SessionsError>> {
        let shelf = self.shelf();
        let found = shelf.entries.get(id).and_then(|(session, entry)| Some((shelf.sessions.get(session)?, entry)));
        Box::pin(ready(found.map(|(state, entry)| entry.view(&state.label)).ok_or_else(|| unknown_dispatch(id))))
    }

    fn queue<'a>(&'a self, session: Option<&'a str>) -> BoxFuture<'a, Result<Vec<DispatchView>, SessionsError>> {
        let shelf = self.shelf();
        let wanted = shelf.sessions.values().filter(|state| session.is_none_or(|label| state.label == label));
        let views = wanted.flat_map(|state| state.open.iter().map(|entry| entry.view(&state.label))).collect();
        Box::pin(ready(Ok(views)))
    }

    fn rows_after<'a>(&'a self, label: &'a str, seq: u64) -> BoxFuture<'a, Result<Vec<(u64, Row)>, SessionsError>> {
        let shelf = self.shelf();
        let rows = shelf.labels.get(label).and_then(|session| shelf.rows.get(session));
        let behind = (1..).zip(rows.into_iter().flatten()).filter(|(at, _)| *at > seq);
        Box::pin(ready(Ok(behind.map(|(at, row)| (at, row.clone())).collect())))
    }

    fn last_place<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<u64, SessionsError>> {
        let shelf = self.shelf();
        let rows = shelf.labels.get(label).and_then(|session| shelf.rows.get(session));
        Box::pin(ready(Ok(rows.map_or(0, |rows| rows.len() as u64))))
    }

    fn owners(&self) -> BoxFuture<'_, Result<Vec<String>, BookError>> {
        let owners = self.shelf().sessions.values().filter_map(|state| state.owner.clone()).collect();
        Box::pin(ready(Ok(owners)))
    }

    fn sweep<'a>(&'a self, dead: &'a [String], now_ms: u64) -> BoxFuture<'a, Result<Swept, BookError>> {
        Box::pin(ready(Ok(self.shelf().sweep(dead, now_ms))))
    }
}
