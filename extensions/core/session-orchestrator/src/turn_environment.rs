//! Where a turn meets the store: rows go in under the lease, inputs that steer come out at boundaries.

use crate::contract::{DispatchId, SessionEvent, SessionNews};
use crate::queue_store::{FinishedTurn, Lease, NewRow, QueueError, QueueStore, RecordedRows, TurnFinish};
use crate::reply::steering_text;
use crate::scope::RunnerScope;
use crate::session_feed::SessionFeed;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{Chunk, Role, Row, RowBody};
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::{Inbox, SinkError, StepSink, TurnEnd, TurnEvent};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What stands in the history for an input that its sender took back in the last moment.
const TAKEN_BACK: &str = "(a message was taken back by its sender)";

/// One turn's way into the store.
pub(crate) struct TurnEnvironment {
    pub(crate) store: Arc<QueueStore>,
    pub(crate) feed: Arc<SessionFeed>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) lease: Lease,
    pub(crate) partition: String,
    pub(crate) runner: RunnerScope,
    pub(crate) cancel: CancelToken,
    pub(crate) progress: Mutex<StoredProgress>,
}

/// How far the storing of a turn is.
#[derive(Default)]
pub(crate) struct StoredProgress {
    /// Inputs whose text the turn has taken and whose row it has not stored yet.
    taken: VecDeque<DispatchId>,
    /// What the steps used whose end is stored.
    usage: Usage,
    finished: Option<FinishedTurn>,
}

impl TurnEnvironment {
    fn progress(&self) -> MutexGuard<'_, StoredProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What became of the turn, if it ended with its last row.
    pub(crate) fn take_finished(&self) -> Option<FinishedTurn> {
        self.progress().finished.take()
    }

    /// Keeps an output of the turn where every process can read it.
    pub(crate) async fn keep_output(&self, turn: &TurnId, name: &str, bytes: Vec<u8>) -> Result<(), QueueError> {
        self.store.keep_output(&self.lease, turn, name, bytes).await
    }

    /// An output that a turn kept.
    pub(crate) async fn output(&self, turn: &TurnId, name: &str) -> Result<Option<Vec<u8>>, QueueError> {
        self.store.output(turn, name).await
    }

    /// Shows what the turn does to whoever watches.
    pub(crate) fn watcher(&self, turn: TurnId) -> Arc<dyn Fn(TurnEvent) + Send + Sync> {
        let (feed, label) = (Arc::clone(&self.feed), self.lease.label.clone());
        Arc::new(move |live| feed.news(&label, SessionNews::Live { turn: turn.clone(), live }))
    }

    fn new_row(&self, row: &Row) -> NewRow {
        let steered = matches!(row.body, RowBody::Steer { .. } | RowBody::Chunk { role: Role::User, .. });
        let consumes = if steered { self.progress().taken.pop_front() } else { None };
        NewRow { row: row.clone(), consumes }
    }

    /// How the turn ends in the store, if these rows end it well. Then each of its steps has told what it used.
    fn turn_finish(&self, rows: &[Row]) -> Option<TurnFinish> {
        let last = rows.last()?;
        let RowBody::TurnEnded { end: TurnEnd::Finished } = &last.body else { return None };
        let mut usage = self.progress().usage;
        rows.iter().for_each(|row| usage.add(used(row)));
        Some(TurnFinish {
            turn: last.turn.clone(),
            end: TurnEnd::Finished,
            usage,
            reason: String::new(),
            now_ms: self.clock.now_ms(),
            runner: self.runner.clone(),
        })
    }

    async fn store(&self, rows: &[Row]) -> Result<(), QueueError> {
        let finish = self.turn_finish(rows);
        let mut new: Vec<NewRow> = rows.iter().map(|row| self.new_row(row)).collect();
        loop {
            match self.store.record(&self.lease, new.clone(), finish.clone()).await {
                // It leaves its place to words about that; the next try does not meet it again.
                Err(QueueError::TakenBack(id)) => new.iter_mut().for_each(|new| {
                    if new.consumes.as_ref() == Some(&id) {
                        *new = NewRow { row: emptied(&new.row), consumes: None };
                    }
                }),
                recorded => {
                    self.tell(new, recorded?).await;
                    return Ok(());
                }
            }
        }
    }

    /// Tells whoever watches, and the turn itself.
    async fn tell(&self, rows: Vec<NewRow>, recorded: RecordedRows) {
        let mut consumed = Vec::new();
        for (seq, NewRow { row, consumes }) in recorded.places.into_iter().zip(rows) {
            self.progress().usage.add(used(&row));
            consumed.extend(consumes);
            self.feed.tell(&self.lease.label, &SessionEvent { seq: Some(seq), news: SessionNews::Row { row } });
        }
        if recorded.stop {
            self.cancel.cancel();
        }
        self.progress().finished = recorded.finished;
        for id in consumed {
            if let Ok(dispatch) = self.store.dispatch(&id).await {
                self.feed.news(&self.lease.label, SessionNews::Dispatch { dispatch });
            }
        }
    }
}

fn used(row: &Row) -> Usage {
    match &row.body {
        RowBody::StepEnded { usage, .. } => *usage,
        _ => Usage::default(),
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
    fn record_all<'a>(&'a self, rows: &'a [Row]) -> BoxFuture<'a, Result<(), SinkError>> {
        Box::pin(async move { self.store(rows).await.map_err(|error| SinkError(error.to_string())) })
    }
}

impl Inbox for TurnEnvironment {
    fn take(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async move {
            // What cannot be read now is read at the next boundary, or becomes a turn of its own.
            let waiting = self.store.steers(&self.lease, &self.partition).await.unwrap_or_default();
            self.progress().taken.extend(waiting.iter().map(|input| input.id.clone()));
            waiting.into_iter().map(|input| steering_text(&input.submission)).collect()
        })
    }
}
