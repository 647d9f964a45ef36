//! One leased session: turn after turn, as long as something is due and the lease is ours.

use super::{Conductor, LEASE_MS, RENEW_MS};
use crate::book::{Beginning, Begun, BookError, Finish, Lease, Start};
use crate::contract::{SessionEvent, SessionNews};
use crate::performer::{Performance, Piece};
use crate::stage::Stage;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::Message;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::turn::TurnEnd;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use std::sync::Arc;

impl Conductor {
    /// Runs everything that is due and gives the lease back.
    pub(super) async fn drive(&self, lease: Lease, cancel: CancelToken) -> Result<(), BookError> {
        while !self.is_draining() {
            let history = self.book.history(&lease).await?;
            let turn = TurnId::new(self.next_id());
            let start =
                Start { row_prefix: format!("in-{turn}"), turn, model: self.performer.model(), now_ms: self.now_ms() };
            match self.book.begin(&lease, start).await? {
                Beginning::Turn(begun) => self.play(&lease, *begun, history, cancel.child()).await?,
                Beginning::Rest => break,
            }
        }
        self.book.release(&lease, self.now_ms()).await
    }

    async fn play(
        &self,
        lease: &Lease,
        begun: Begun,
        history: Vec<Message>,
        cancel: CancelToken,
    ) -> Result<(), BookError> {
        self.announce(lease, &begun);
        let turn = begun.turn.clone();
        // A stop from outside must reach this turn and not the next one.
        let watched = cancel.clone();
        self.running().insert(lease.session.clone(), (lease.label.clone(), cancel.clone()));
        let stage = Stage::new(self, lease, &begun, cancel.clone());
        let piece = Piece { lease: lease.clone(), begun, history, cancel };
        let performance = self.performer.perform(piece, &stage).boxed();
        let keeping = self.keep(lease, &watched).boxed();
        let Performance { end, usage } = match select(performance, keeping).await {
            Either::Left((performance, _)) => performance,
            Either::Right((lost, _)) => return Err(lost),
        };
        let finish = Finish { turn, reason: reason(&end), end, usage, now_ms: self.now_ms() };
        let ended = self.book.finish(lease, finish).await?;
        self.tell_dispatches(ended);
        Ok(())
    }

    fn announce(&self, lease: &Lease, begun: &Begun) {
        self.tell_dispatches(begun.views.clone());
        for (seq, row) in &begun.rows {
            let news = SessionNews::Row { row: row.clone() };
            self.hub.tell(&lease.label, &SessionEvent { seq: Some(*seq), news });
        }
    }

    /// Keeps the lease for as long as the turn runs; ends only when it is lost.
    async fn keep(&self, lease: &Lease, cancel: &CancelToken) -> BookError {
        let mut good_until = self.means.clock.monotonic_ms() + LEASE_MS;
        loop {
            self.means.clock.sleep_ms(RENEW_MS).await;
            let asked_at = self.means.clock.monotonic_ms();
            match self.book.renew(lease, self.now_ms() + LEASE_MS).await {
                Ok(stop) => {
                    good_until = asked_at + LEASE_MS;
                    if stop {
                        cancel.cancel();
                    }
                }
                Err(BookError::Fenced) => {
                    cancel.cancel();
                    return BookError::Fenced;
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

/// The stage needs the conductor's book and hub for as long as the turn runs.
impl Stage {
    fn new(conductor: &Conductor, lease: &Lease, begun: &Begun, cancel: CancelToken) -> Self {
        let partition = begun.inputs.first().map(|input| input.partition.clone()).unwrap_or_default();
        Self::over(Arc::clone(&conductor.book), Arc::clone(&conductor.hub), lease.clone(), partition, cancel)
    }
}
