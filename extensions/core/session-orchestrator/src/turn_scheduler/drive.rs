//! One leased session: turn after turn, as long as something is due and the lease is ours.

use super::{RENEW_MS, TurnScheduler};
use crate::contract::{PastTurn, SessionEvent, SessionNews};
use crate::queue::LEASE_MS;
use crate::queue_store::{Lease, NextTurn, QueueError, StartedTurn, TurnFinish, TurnStart};
use crate::turn_environment::TurnEnvironment;
use crate::turn_runner::{TurnJob, TurnResult};
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::turn::TurnEnd;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use std::sync::Arc;

impl TurnScheduler {
    /// Runs everything that is due and gives the lease back.
    pub(super) async fn drive(&self, lease: Lease, cancel: CancelToken) -> Result<(), QueueError> {
        while !self.is_draining() {
            let history = self.store.history(&lease).await?;
            let turn = TurnId::new(self.next_id());
            let start = TurnStart {
                row_prefix: format!("in-{turn}"),
                turn,
                model: self.runner.model(),
                now_ms: self.now_ms(),
                runner: self.runner_scope(),
            };
            match self.store.begin(&lease, start).await? {
                NextTurn::Turn(begun) => self.run_turn(&lease, *begun, history, cancel.child()).await?,
                NextTurn::Rest => break,
            }
        }
        self.store.release(&lease, self.now_ms()).await
    }

    async fn run_turn(
        &self,
        lease: &Lease,
        begun: StartedTurn,
        history: Vec<PastTurn>,
        cancel: CancelToken,
    ) -> Result<(), QueueError> {
        self.announce(lease, &begun);
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
        let finish = TurnFinish { turn, reason: reason(&end), end, usage, now_ms: self.now_ms() };
        let ended = self.store.finish(lease, finish).await?;
        self.tell_dispatches(ended);
        Ok(())
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
        Self::over(Arc::clone(&scheduler.store), Arc::clone(&scheduler.feed), lease.clone(), partition, cancel)
    }
}
