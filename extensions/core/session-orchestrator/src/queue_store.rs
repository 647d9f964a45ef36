//! The queue in storage: every change is one transaction that happens whole or not at all.

mod approvals;
mod outbox;
mod requests;
mod steps;
pub(crate) mod tables;

pub(crate) use approvals::QuestionStanding;
pub(crate) use outbox::{AttemptEnd, OUTBOX_TOPIC, TakenReplies, TakenReply};
pub(crate) use requests::{
    Admission, Admitted, Claimant, ExpiredLeases, FinishedTurn, Lease, NewRow, NextTurn, RecordedRows, SessionRest,
    StartedTurn, TurnFinish, TurnStart,
};

use crate::contract::{CancelOutcome, DispatchId, DispatchView, PastTurn, SessionsError, past_turns};
use crate::inputs::unknown_dispatch;
use crate::queue::{self, WaitingInput};
use crate::scope::WaitingMessage;
use dispatch_contracts::conversation::Row;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Keys, Record, Storage, StorageBackend, StorageError};
use dispatch_durable_queue::transact;
use ext_conversation_store::contract::ledger::{self, label_key, session_key};
use ext_conversation_store::contract::{ConversationError, Conversations, MAX_PAGE};
use std::path::PathBuf;
use std::sync::Arc;

/// What other processes are told of.
pub(crate) const QUEUE_TOPIC: &str = "session-orchestrator/queue";
/// The same for questions: one was asked, answered or ended.
pub(crate) const QUESTION_TOPIC: &str = "session-orchestrator/questions";

/// The queue over a store that reaches its own tables and the ledger's. Every method that takes a lease fails with
/// [`QueueError::Fenced`] when the lease is lost.
pub(crate) struct QueueStore {
    storage: Arc<dyn Storage>,
    conversations: Arc<dyn Conversations>,
    announced: Option<Arc<dyn StorageBackend>>,
}

impl QueueStore {
    pub(crate) fn new(storage: Arc<dyn Storage>, conversations: Arc<dyn Conversations>) -> Self {
        Self { storage, conversations, announced: None }
    }

    /// Tells other processes of input that this one does not take up.
    pub(crate) fn announcing(self, backend: Arc<dyn StorageBackend>) -> Self {
        Self { announced: Some(backend), ..self }
    }

    fn announce(&self, topic: &str) {
        if let Some(backend) = &self.announced {
            backend.announce(topic);
        }
    }

    fn storage(&self) -> &dyn Storage {
        self.storage.as_ref()
    }

    /// Takes input in.
    pub(crate) async fn admit(&self, admission: Admission) -> Result<Admitted, SessionsError> {
        let keys = Keys::of([label_key(&admission.submission.session)]);
        let admitted = transact(self.storage(), keys, move |tx| steps::admit(tx, admission)).await?;
        if admitted.lease.is_none() {
            self.announce(QUEUE_TOPIC);
        }
        Ok(admitted)
    }

    /// Leases of sessions that have something to do now.
    pub(crate) async fn claim(&self, claimant: Claimant, now_ms: u64, limit: u32) -> Result<Vec<Lease>, QueueError> {
        transact(self.storage(), Keys::none(), move |tx| steps::claim(tx, &claimant, now_ms, limit)).await
    }

    /// Keeps a lease; answers whether its turn should stop.
    pub(crate) async fn renew(&self, lease: &Lease, until_ms: u64) -> Result<bool, QueueError> {
        let lease = lease.clone();
        transact(self.storage(), held(&lease), move |tx| steps::renew(tx, &lease, until_ms)).await
    }

    /// What was said before a turn that has begun.
    pub(crate) async fn history(&self, lease: &Lease, turn: &TurnId) -> Result<Vec<PastTurn>, QueueError> {
        let mut past = past_turns(self.conversations.history(&lease.label).await?);
        past.retain(|past| past.turn != *turn);
        Ok(past)
    }

    /// Takes what is due and writes the turn that consumes it.
    pub(crate) async fn begin(&self, lease: &Lease, start: TurnStart) -> Result<NextTurn, QueueError> {
        let lease = lease.clone();
        transact(self.storage(), held(&lease), move |tx| steps::begin(tx, &lease, start)).await
    }

    /// What could enter the running turn.
    pub(crate) async fn steers(&self, lease: &Lease, partition: &str) -> Result<Vec<WaitingInput>, QueueError> {
        let query = statement!(
            format!(
                "SELECT {} FROM dispatches d LEFT JOIN turn_inputs i ON i.dispatch_id = d.id
                 WHERE d.session = ?1 AND d.state = 'pending' ORDER BY d.seq",
                tables::ENTRY
            ),
            &lease.session
        );
        let found = self.storage.query(query).await?;
        let waiting: Vec<WaitingInput> =
            found.iter().map(|record| tables::entry(record).map(|entry| entry.waiting())).collect::<Result<_, _>>()?;
        Ok(queue::steers(&waiting, partition).cloned().collect())
    }

    /// Stores rows in one transaction; the inputs that they came from are consumed in it, and with `finish` the turn
    /// ends in it.
    pub(crate) async fn record(
        &self,
        lease: &Lease,
        rows: Vec<NewRow>,
        finish: Option<TurnFinish>,
    ) -> Result<RecordedRows, QueueError> {
        let lease = lease.clone();
        transact(self.storage(), held(&lease), move |tx| steps::record(tx, &lease, &rows, finish.as_ref())).await
    }

    /// Keeps an output of a turn that was too large for the model.
    pub(crate) async fn keep_output(
        &self,
        lease: &Lease,
        turn: &TurnId,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<(), QueueError> {
        let (lease, turn, name) = (lease.clone(), turn.clone(), name.to_owned());
        transact(self.storage(), held(&lease), move |tx| {
            steps::check(tx, &lease)?;
            Ok(ledger::keep_output(tx, &turn, lease.token.fence, &name, &bytes)?)
        })
        .await
    }

    /// An output that was kept; `None` when there is none of the name.
    pub(crate) async fn output(&self, turn: &TurnId, name: &str) -> Result<Option<Vec<u8>>, QueueError> {
        Ok(self.conversations.output(turn, name).await?)
    }

    /// Ends the turn and its inputs; the lease stays if something is due.
    pub(crate) async fn finish(&self, lease: &Lease, finish: TurnFinish) -> Result<FinishedTurn, QueueError> {
        let lease = lease.clone();
        transact(self.storage(), held(&lease), move |tx| steps::finish(tx, &lease, &finish)).await
    }

    /// Gives a lease back.
    pub(crate) async fn release(&self, lease: &Lease, now_ms: u64) -> Result<(), QueueError> {
        let lease = lease.clone();
        transact(self.storage(), held(&lease), move |tx| steps::release(tx, &lease, now_ms)).await
    }

    /// When the next session without a lease has something to do, after this moment. What is due by then was claimed,
    /// or needs another process.
    pub(crate) async fn next_due(&self, after_ms: u64) -> Result<Option<u64>, QueueError> {
        let query = "SELECT MIN(ready_at) FROM session_leases WHERE ready_at > ?1 AND lease_owner IS NULL";
        let found = self.storage.query(statement!(query, after_ms)).await?;
        Ok(found.first().map(|record| record.optional_unsigned(0)).transpose()?.flatten())
    }

    /// Takes an input back; the view says which session's turn must stop.
    pub(crate) async fn cancel(
        &self,
        id: &DispatchId,
        now_ms: u64,
    ) -> Result<(CancelOutcome, DispatchView), SessionsError> {
        let id = id.clone();
        transact(self.storage(), Keys::none(), move |tx| steps::cancel(tx, &id, now_ms)).await
    }

    /// Lets an input wait again that was set aside.
    pub(crate) async fn retry(&self, id: &DispatchId, now_ms: u64) -> Result<DispatchView, SessionsError> {
        let id = id.clone();
        let view = transact(self.storage(), Keys::none(), move |tx| steps::retry(tx, &id, now_ms)).await?;
        self.announce(QUEUE_TOPIC);
        Ok(view)
    }

    /// Sends an input that waits to another folder.
    pub(crate) async fn relocate(
        &self,
        id: &DispatchId,
        folder: PathBuf,
        workspace: PathBuf,
        now_ms: u64,
    ) -> Result<DispatchView, SessionsError> {
        let id = id.clone();
        transact(self.storage(), Keys::none(), move |tx| steps::relocate(tx, &id, folder, workspace, now_ms)).await
    }

    /// What waits in sessions that nobody works on now, by session and in order.
    pub(crate) async fn waiting(&self, session: Option<&str>) -> Result<Vec<WaitingMessage>, SessionsError> {
        let query = statement!(
            format!(
                "SELECT {}, s.label, s.ready_at, s.lease_owner
                 FROM dispatches d LEFT JOIN turn_inputs i ON i.dispatch_id = d.id
                 JOIN session_leases s ON s.session = d.session
                 WHERE d.state = 'pending' AND (CAST(?1 AS TEXT) IS NULL OR s.label = ?1)
                 ORDER BY s.label, d.seq LIMIT ?2",
                tables::ENTRY
            ),
            session,
            MAX_PAGE
        );
        let found = self.storage.query(query).await?;
        let message = |record: &Record| {
            let entry = tables::entry(record)?;
            let is_free = record.optional_text(tables::ENTRY_COLUMNS + 2)?.is_none();
            Ok(WaitingMessage {
                id: entry.id,
                session: record.text(tables::ENTRY_COLUMNS)?.to_owned(),
                scope: entry.scope,
                folder: entry.submission.workdir,
                free_since_ms: record.optional_unsigned(tables::ENTRY_COLUMNS + 1)?.filter(|_| is_free),
            })
        };
        found.iter().map(message).collect()
    }

    pub(crate) async fn dispatch(&self, id: &DispatchId) -> Result<DispatchView, SessionsError> {
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
        Ok(tables::entry(record)?.view(record.text(tables::ENTRY_COLUMNS)?))
    }

    pub(crate) async fn queue(&self, session: Option<&str>) -> Result<Vec<DispatchView>, SessionsError> {
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
        found.iter().map(|record| Ok(tables::entry(record)?.view(record.text(tables::ENTRY_COLUMNS)?))).collect()
    }

    /// What was set aside, newest first.
    pub(crate) async fn parked(&self) -> Result<Vec<DispatchView>, SessionsError> {
        let query = statement!(
            format!(
                "SELECT {}, s.label FROM dispatches d LEFT JOIN turn_inputs i ON i.dispatch_id = d.id
                 JOIN session_leases s ON s.session = d.session WHERE d.state = 'parked' ORDER BY d.at DESC LIMIT ?1",
                tables::ENTRY
            ),
            MAX_PAGE
        );
        let found = self.storage.query(query).await?;
        found.iter().map(|record| Ok(tables::entry(record)?.view(record.text(tables::ENTRY_COLUMNS)?))).collect()
    }

    /// Stored rows behind a place, at most a page.
    pub(crate) async fn rows_after(&self, label: &str, seq: u64) -> Result<Vec<(u64, Row)>, SessionsError> {
        let Some(session) = self.conversations.session(label).await? else { return Ok(Vec::new()) };
        let rows = self.conversations.rows_after(&session.id, seq, MAX_PAGE).await?;
        Ok(rows.into_iter().map(|stored| (stored.seq, stored.row)).collect())
    }

    /// The place of the last stored row of a session; 0 when there is none.
    pub(crate) async fn last_place(&self, label: &str) -> Result<u64, SessionsError> {
        let session = self.conversations.session(label).await?;
        Ok(session.map_or(0, |session| session.last_seq))
    }

    /// Owners that hold a lease or a reply, for whoever can tell the living from the dead.
    pub(crate) async fn owners(&self) -> Result<Vec<String>, QueueError> {
        let query = "SELECT lease_owner FROM session_leases WHERE lease_owner IS NOT NULL
                     UNION SELECT owner FROM outbox WHERE state = 'sending' AND owner IS NOT NULL";
        let found = self.storage.query(statement!(query)).await?;
        Ok(found.iter().map(|record| record.text(0).map(str::to_owned)).collect::<Result<_, _>>()?)
    }

    /// Settles the leases of dead owners and those that ran out.
    pub(crate) async fn sweep(&self, dead: &[String], now_ms: u64) -> Result<ExpiredLeases, QueueError> {
        let dead = dead.to_vec();
        transact(self.storage(), Keys::none(), move |tx| steps::sweep(tx, &dead, now_ms)).await
    }
}

/// What a change under a lease works on.
fn held(lease: &Lease) -> Keys {
    Keys::of([session_key(&lease.session)])
}

/// Why the queue refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueueError {
    /// Somebody else has the session now.
    #[error("the session was taken over by another process")]
    Fenced,
    /// The input was taken back by its sender.
    #[error("the input was taken back by its sender")]
    TakenBack(DispatchId),
    /// The conversation cannot be read.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
