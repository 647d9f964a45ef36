//! Where a turn meets the store: rows go in under the lease, inputs that steer come out at boundaries.

use crate::contract::{DispatchId, SessionEvent, SessionNews};
use crate::queue_store::{Lease, QueueError, QueueStore};
use crate::session_feed::SessionFeed;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{Chunk, Role, Row, RowBody};
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::turn::{Inbox, SinkError, StepSink, TurnEvent};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// What stands in the history for an input that its sender took back in the last moment.
const TAKEN_BACK: &str = "(a message was taken back by its sender)";

/// One turn's way into the store.
pub(crate) struct TurnEnvironment {
    store: Arc<QueueStore>,
    feed: Arc<SessionFeed>,
    lease: Lease,
    partition: String,
    cancel: CancelToken,
    /// Inputs whose text the turn has taken and whose row it has not stored yet.
    taken: Mutex<VecDeque<DispatchId>>,
}

impl TurnEnvironment {
    pub(crate) fn over(
        store: Arc<QueueStore>,
        feed: Arc<SessionFeed>,
        lease: Lease,
        partition: String,
        cancel: CancelToken,
    ) -> Self {
        Self { store, feed, lease, partition, cancel, taken: Mutex::default() }
    }

    /// Shows what the turn does to whoever watches.
    pub(crate) fn watcher(&self, turn: TurnId) -> Arc<dyn Fn(TurnEvent) + Send + Sync> {
        let (feed, label) = (Arc::clone(&self.feed), self.lease.label.clone());
        Arc::new(move |live| feed.news(&label, SessionNews::Live { turn: turn.clone(), live }))
    }

    fn next_taken(&self, row: &Row) -> Option<DispatchId> {
        let steered = matches!(row.body, RowBody::Steer { .. } | RowBody::Chunk { role: Role::User, .. });
        if !steered {
            return None;
        }
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    async fn store(&self, row: &Row) -> Result<(), QueueError> {
        let consumes = self.next_taken(row);
        let (row, recorded) = match self.store.record(&self.lease, row, consumes.as_ref()).await {
            Err(QueueError::TakenBack) => {
                let emptied = emptied(row);
                let recorded = self.store.record(&self.lease, &emptied, None).await?;
                (emptied, recorded)
            }
            recorded => (row.clone(), recorded?),
        };
        self.feed.tell(&self.lease.label, &SessionEvent { seq: Some(recorded.seq), news: SessionNews::Row { row } });
        if recorded.stop {
            self.cancel.cancel();
        }
        if let Some(id) = consumes
            && let Ok(dispatch) = self.store.dispatch(&id).await
        {
            self.feed.news(&self.lease.label, SessionNews::Dispatch { dispatch });
        }
        Ok(())
    }
}

fn emptied(row: &Row) -> Row {
    let text = TAKEN_BACK.to_owned();
    let body = match &row.body {
        RowBody::Chunk { role, index, part, state, .. } => {
            RowBody::Chunk { role: *role, index: *index, part: *part, chunk: Chunk::Text { text }, state: *state }
        }
        RowBody::Steer { index, .. } => RowBody::Steer { index: *index, text },
        other => other.clone(),
    };
    Row { body, ..row.clone() }
}

impl StepSink for TurnEnvironment {
    fn record<'a>(&'a self, row: &'a Row) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move { self.store(row).await.map_err(|error| SinkError(error.to_string())) })
    }
}

impl Inbox for TurnEnvironment {
    fn take(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async move {
            // What cannot be read now is read at the next boundary, or becomes a turn of its own.
            let waiting = self.store.steers(&self.lease, &self.partition).await.unwrap_or_default();
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            taken.extend(waiting.iter().map(|input| input.id.clone()));
            waiting.into_iter().map(|input| input.submission.text).collect()
        })
    }
}
