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
    /// Rows that are stored together with the next one.
    pub(super) held: Mutex<Vec<Row>>,
}

impl Recorder<'_> {
    /// Stores one row; returns when it is durable.
    pub(super) async fn record(&self, step: u32, body: RowBody) -> Result<(), SinkError> {
        self.record_all(step, [body]).await
    }

    /// Stores rows together, behind those that were held; returns when they are durable.
    pub(super) async fn record_all(
        &self,
        step: u32,
        bodies: impl IntoIterator<Item = RowBody>,
    ) -> Result<(), SinkError> {
        let mut rows = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        rows.extend(bodies.into_iter().map(|body| self.row(step, body)));
        if rows.is_empty() {
            return Ok(());
        }
        self.sink.record_all(&rows).await?;
        for row in &rows {
            self.bus.emit(&ROW_RECORDED, RowRecorded { session: self.session.clone(), row: row.clone() });
        }
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).extend(rows);
        Ok(())
    }

    /// Keeps rows until the next one is stored. For what nothing is done about before that.
    pub(super) fn hold(&self, step: u32, bodies: impl IntoIterator<Item = RowBody>) {
        let rows = bodies.into_iter().map(|body| self.row(step, body));
        self.held.lock().unwrap_or_else(PoisonError::into_inner).extend(rows);
    }

    fn row(&self, step: u32, body: RowBody) -> Row {
        let id = RowId::new(self.ids.next_id());
        Row { id, turn: self.turn.clone(), step, at_ms: self.clock.now_ms(), body }
    }

    /// The rows stored so far.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
