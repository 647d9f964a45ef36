//! One leased session: turn after turn, as long as something is due and the lease is ours.

use super::{RENEW_MS, TurnScheduler};
use crate::contract::{HistoryUse, SessionEvent, SessionNews};
use crate::queue::LEASE_MS;
use crate::queue_store::{Lease, NextTurn, QueueError, SessionRest, StartedTurn, TurnFinish, TurnStart};
use crate::turn_environment::TurnEnvironment;
use crate::turn_runner::{TurnJob, TurnResult};
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::turn::TurnEnd;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use std::sync::{Arc, Mutex};

impl TurnScheduler {
    /// Runs everything that is due and gives the lease back.
    pub(super) async fn drive(
        &self,
        lease: Lease,
        mut begun: Option<Box<StartedTurn>>,
        cancel: CancelToken,
    ) -> Result<SessionRest, QueueError> {
        loop {
            let next = match begun.take() {
                Some(begun) => NextTurn::Turn(begun),
                None if self.is_draining() => NextTurn::Rest,
                None => self.store.begin(&lease, self.turn_start()).await?,
            };
            let NextTurn::Turn(next) = next else { break };
            match self.run_turn(&lease, *next, cancel.child()).await? {
                SessionRest::Continues => {}
                rest => return Ok(rest),
            }
        }
        self.store.release(&lease, self.now_ms()).await?;
        Ok(SessionRest::Waits)
    }

    /// What the next turn needs to begin.
    pub(crate) fn turn_start(&self) -> TurnStart {
        let turn = TurnId::new(self.next_id());
        TurnStart {
            row_prefix: format!("in-{turn}"),
            turn,
            model: self.runner.model(),
            now_ms: self.now_ms(),
            runner: self.runner_scope(),
        }
    }

    async fn run_turn(
        &self,
        lease: &Lease,
        begun: StartedTurn,
        cancel: CancelToken,
    ) -> Result<SessionRest, QueueError> {
        self.announce(lease, &begun);
        let history = match begun.history_use() {
            HistoryUse::Whole => self.store.history(lease, &begun.turn).await?,
            HistoryUse::None => Vec::new(),
        };
        let turn = begun.turn.clone();
        // A stop from outside must reach this turn and not the next one.
        let watched = cancel.clone();
        self.running().insert(lease.session.clone(), (lease.label.clone(), cancel.clone()));
        let environment = TurnEnvironment::new(self, lease, &begun, cancel.clone());
        let job = TurnJob { lease: lease.clone(), begun, history, cancel };
        let result = self.runner.run(job, &environment).boxed();
        let keeping = self.keep(lease, &watched).boxed();
        let TurnResult { end, usage } = match select(result, keeping).await {
            Either::Left((result, _)) => result,
            Either::Right((lost, _)) => return Err(lost),
        };
        let finished = match environment.take_finished() {
            Some(finished) => finished,
            None => {
                let (reason, now_ms, runner) = (reason(&end), self.now_ms(), self.runner_scope());
                self.store.finish(lease, TurnFinish { turn, reason, end, usage, now_ms, runner }).await?
            }
        };
        if finished.replies {
            self.outbox.wake();
        }
        self.tell_dispatches(finished.ended);
        Ok(finished.rest)
    }

    fn announce(&self, lease: &Lease, begun: &StartedTurn) {
        self.tell_dispatches(begun.views.clone());
        for (seq, row) in &begun.rows {
            let news = SessionNews::Row { row: row.clone() };
            self.feed.tell(&lease.label, &SessionEvent { seq: Some(*seq), news });
        }
    }

    /// Keeps the lease for as long as the turn runs; ends only when it is lost.
    async fn keep(&self, lease: &Lease, cancel: &CancelToken) -> QueueError {
        let mut good_until = self.ports.clock.monotonic_ms() + LEASE_MS;
        loop {
            self.ports.clock.sleep_ms(RENEW_MS).await;
            let asked_at = self.ports.clock.monotonic_ms();
            match self.store.renew(lease, self.now_ms() + LEASE_MS).await {
                Ok(stop) => {
                    good_until = asked_at + LEASE_MS;
                    if stop {
                        cancel.cancel();
                    }
                }
                Err(QueueError::Fenced) => {
                    cancel.cancel();
                    return QueueError::Fenced;
                }
                // Storage may come back; without it nobody else can take the session either, until the
                // lease has run out.
                Err(error) if asked_at >= good_until => {
                    cancel.cancel();
                    return error;
                }
                Err(_) => {}
            }
        }
    }
}

/// What the sender of an input reads about the end of its turn; nothing when all went well.
fn reason(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Finished => String::new(),
        TurnEnd::Cancelled => "the turn was stopped".to_owned(),
        TurnEnd::LimitReached { limit } => format!("the turn reached its limit of {limit:?}").to_lowercase(),
        TurnEnd::ProviderFailed { error } => format!("the model could not answer: {error}"),
        TurnEnd::StoreFailed { message } => format!("the turn could not be stored: {message}"),
        TurnEnd::Faulted { message } => format!("the turn failed: {message}"),
    }
}

/// The environment needs the scheduler's store and feed for as long as the turn runs.
impl TurnEnvironment {
    fn new(scheduler: &TurnScheduler, lease: &Lease, begun: &StartedTurn, cancel: CancelToken) -> Self {
        let partition = begun.inputs.first().map(|input| input.partition.clone()).unwrap_or_default();
        Self {
            store: Arc::clone(&scheduler.store),
            feed: Arc::clone(&scheduler.feed),
            clock: Arc::clone(scheduler.clock()),
            lease: lease.clone(),
            partition,
            runner: scheduler.runner_scope(),
            cancel,
            progress: Mutex::default(),
        }
    }
}
