//! Holds the newest records in memory until there is somewhere to write them.

use dispatch_contracts::ports::{Level, LogRecord, LogSink};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A bounded sink. Once another sink is attached, records go there.
pub struct LogRing {
    capacity: usize,
    state: Mutex<RingState>,
}

#[derive(Default)]
struct RingState {
    records: VecDeque<LogRecord>,
    lost: u64,
    attached: Option<Arc<dyn LogSink>>,
}

impl LogRing {
    /// A ring for this many records, at least one; the oldest make room for new ones.
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), state: Mutex::default() }
    }

    /// Hands over everything held, oldest first, and from then on every new record. When records
    /// were lost, the first one handed over says how many. The ring must not be attached to itself.
    pub fn attach(&self, sink: Arc<dyn LogSink>) {
        // Written without the lock, so that a sink which logs does not wait for itself; records
        // that come meanwhile are taken in the next round, so that their order stays.
        loop {
            let mut state = self.lock();
            let lost = std::mem::take(&mut state.lost);
            let records = std::mem::take(&mut state.records);
            if lost == 0 && records.is_empty() {
                state.attached = Some(sink);
                return;
            }
            drop(state);
            if lost > 0 {
                sink.write(lost_record(lost));
            }
            records.into_iter().for_each(|record| sink.write(record));
        }
    }

    /// The records held now, oldest first.
    pub fn records(&self) -> Vec<LogRecord> {
        self.lock().records.iter().cloned().collect()
    }

    /// How many records had to make room and were not reported yet.
    pub fn lost(&self) -> u64 {
        self.lock().lost
    }

    fn lock(&self) -> MutexGuard<'_, RingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogSink for LogRing {
    fn write(&self, record: LogRecord) {
        let mut state = self.lock();
        if let Some(sink) = state.attached.clone() {
            drop(state);
            sink.write(record);
            return;
        }
        if state.records.len() >= self.capacity {
            state.records.pop_front();
            state.lost += 1;
        }
        state.records.push_back(record);
    }
}

fn lost_record(lost: u64) -> LogRecord {
    LogRecord {
        level: Level::Warn,
        source: "kernel".to_owned(),
        message: "early log records were dropped: the buffer was full".to_owned(),
        fields: Map::from_iter([("count".to_owned(), Value::from(lost))]),
    }
}
