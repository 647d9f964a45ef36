//! Turns whose steps follow from a seed: a few rows, a boundary for steering, an end.

use crate::turn_environment::TurnEnvironment;
use crate::turn_runner::{TurnJob, TurnResult, TurnRunner};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Chunk, ChunkState, Role, Row, RowBody};
use dispatch_contracts::ids::RowId;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::{Inbox, SinkError, StepSink, TurnEnd};
use dispatch_sim::{SeededRandom, SimClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs turns out of random numbers.
pub(super) struct SeededRunner {
    pub(super) clock: SimClock,
    pub(super) random: Arc<SeededRandom>,
    pub(super) row_ids: Arc<AtomicU64>,
    /// How long a turn thinks at most, per step.
    pub(super) pace_ms: u64,
}

impl SeededRunner {
    fn row(&self, job: &TurnJob, step: u32, body: RowBody) -> Row {
        let id = self.row_ids.fetch_add(1, Ordering::Relaxed);
        Row {
            id: RowId::new(format!("row-{id}")),
            turn: job.begun.turn.clone(),
            step,
            at_ms: self.clock.now_ms(),
            body,
        }
    }

    async fn steps(&self, job: &TurnJob, environment: &TurnEnvironment) -> Result<TurnEnd, SinkError> {
        for step in 0..=u32::try_from(self.random.below(3)).unwrap_or_default() {
            let mut left = self.random.below(self.pace_ms);
            // A cancelled turn stops at once, as the real loop does.
            while left > 0 && !job.cancel.is_cancelled() {
                self.clock.sleep_ms(left.min(20)).await;
                left = left.saturating_sub(20);
            }
            if job.cancel.is_cancelled() {
                environment.record(&self.row(job, step, RowBody::TurnEnded { end: TurnEnd::Cancelled })).await?;
                return Ok(TurnEnd::Cancelled);
            }
            let chunk = Chunk::Text { text: format!("step {step}") };
            let said = RowBody::Chunk { role: Role::Assistant, index: 0, part: 0, chunk, state: ChunkState::Whole };
            environment.record(&self.row(job, step, said)).await?;
            for (index, text) in (0..).zip(environment.take().await) {
                environment.record(&self.row(job, step, RowBody::Steer { index, text })).await?;
            }
        }
        environment.record(&self.row(job, 0, RowBody::TurnEnded { end: TurnEnd::Finished })).await?;
        Ok(TurnEnd::Finished)
    }
}

impl TurnRunner for SeededRunner {
    fn model(&self) -> String {
        "seeded".to_owned()
    }

    fn run<'a>(&'a self, job: TurnJob, environment: &'a TurnEnvironment) -> BoxFuture<'a, TurnResult> {
        Box::pin(async move {
            let end = match self.steps(&job, environment).await {
                Ok(end) => end,
                Err(SinkError(message)) => TurnEnd::StoreFailed { message },
            };
            TurnResult { end, usage: Usage::default() }
        })
    }
}
