//! A performer that says what it would have done: a few rows, a boundary for steering, an end.

use super::faulty::Dice;
use crate::performer::{Performance, Performer, Piece};
use crate::stage::Stage;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::conversation::{Chunk, ChunkState, Role, Row, RowBody};
use dispatch_contracts::ids::RowId;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::{Inbox, SinkError, StepSink, TurnEnd};
use dispatch_sim::SimClock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Plays turns out of dice.
pub(super) struct Player {
    pub(super) clock: SimClock,
    pub(super) dice: Arc<Dice>,
    pub(super) row_ids: Arc<AtomicU64>,
    /// How long a turn thinks at most, per step.
    pub(super) pace_ms: u64,
}

impl Player {
    fn row(&self, piece: &Piece, step: u32, body: RowBody) -> Row {
        let id = self.row_ids.fetch_add(1, Ordering::Relaxed);
        Row {
            id: RowId::new(format!("row-{id}")),
            turn: piece.begun.turn.clone(),
            step,
            at_ms: self.clock.now_ms(),
            body,
        }
    }

    async fn steps(&self, piece: &Piece, stage: &Stage) -> Result<TurnEnd, SinkError> {
        for step in 0..=u32::try_from(self.dice.below(3)).unwrap_or_default() {
            let mut left = self.dice.below(self.pace_ms);
            // A cancelled turn stops at once, as the real loop does.
            while left > 0 && !piece.cancel.is_cancelled() {
                self.clock.sleep_ms(left.min(20)).await;
                left = left.saturating_sub(20);
            }
            if piece.cancel.is_cancelled() {
                stage.record(&self.row(piece, step, RowBody::TurnEnded { end: TurnEnd::Cancelled })).await?;
                return Ok(TurnEnd::Cancelled);
            }
            let chunk = Chunk::Text { text: format!("step {step}") };
            let said = RowBody::Chunk { role: Role::Assistant, index: 0, part: 0, chunk, state: ChunkState::Whole };
            stage.record(&self.row(piece, step, said)).await?;
            for (index, text) in (0..).zip(stage.take().await) {
                stage.record(&self.row(piece, step, RowBody::Steer { index, text })).await?;
            }
        }
        stage.record(&self.row(piece, 0, RowBody::TurnEnded { end: TurnEnd::Finished })).await?;
        Ok(TurnEnd::Finished)
    }
}

impl Performer for Player {
    fn model(&self) -> String {
        "dice".to_owned()
    }

    fn perform<'a>(&'a self, piece: Piece, stage: &'a Stage) -> BoxFuture<'a, Performance> {
        Box::pin(async move {
            let end = match self.steps(&piece, stage).await {
                Ok(end) => end,
                Err(SinkError(message)) => TurnEnd::StoreFailed { message },
            };
            Performance { end, usage: Usage::default() }
        })
    }
}
