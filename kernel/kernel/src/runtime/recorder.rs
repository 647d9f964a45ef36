//! Makes rows and hands them to the sink; what is in `rows` is on disk.

use crate::bus::Bus;
use dispatch_contracts::conversation::{Row, RowBody};
use dispatch_contracts::hooks::{ROW_RECORDED, RowRecorded};
use dispatch_contracts::ids::{RowId, SessionId, TurnId};
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_contracts::turn::{SinkError, StepSink};
use std::sync::{Mutex, PoisonError};

/// Records the rows of one turn.
pub(super) struct Recorder<'a> {
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    pub(super) sink: &'a dyn StepSink,
    pub(super) bus: &'a Bus,
    pub(super) clock: &'a dyn Clock,
    pub(super) ids: &'a dyn Ids,
    pub(super) stored: Mutex<Vec<Row>>,
}

impl Recorder<'_> {
    /// Stores one row; returns when it is durable.
    pub(super) async fn record(&self, step: u32, body: RowBody) -> Result<(), SinkError> {
        let id = RowId::new(self.ids.next_id());
        let row = Row { id, turn: self.turn.clone(), step, at_ms: self.clock.now_ms(), body };
        self.sink.record(&row).await?;
        self.bus.emit(&ROW_RECORDED, RowRecorded { session: self.session.clone(), row: row.clone() });
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        Ok(())
    }

    /// The rows stored so far.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
