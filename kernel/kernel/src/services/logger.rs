//! Logging that works before any extension does: a facade over a sink, and a sink to begin with.
//!
//! ```
//! use dispatch_kernel::services::logger::{LogRing, Logger};
//! use dispatch_contracts::ports::Level;
//! use std::sync::Arc;
//!
//! let early = Arc::new(LogRing::new(64));
//! let logger = Logger::new(early.clone(), "kernel", Level::Info);
//! logger.info("extensions were activated").field("count", 3).write();
//! assert_eq!(early.records().len(), 1);
//! ```

mod cut;
mod ring;

#[cfg(test)]
mod tests;

pub use cut::{MAX_FIELD_BYTES, MAX_FIELD_DEPTH, MAX_FIELD_ITEMS, MAX_FIELDS, MAX_MESSAGE_BYTES, MAX_NAME_BYTES};
pub use ring::LogRing;

use dispatch_contracts::ports::{Level, LogRecord, LogSink};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The field that says how many others had no room.
const LEFT_OUT: &str = "fieldsLeftOut";

/// Writes records for one speaker. Clones share the sink.
#[derive(Clone)]
pub struct Logger {
    sink: Arc<dyn LogSink>,
    source: Arc<str>,
    least: Level,
}

impl Logger {
    /// A logger for `source` that drops what matters less than `least`.
    pub fn new(sink: Arc<dyn LogSink>, source: &str, least: Level) -> Self {
        Self { sink, source: Arc::from(cut::name(source)), least }
    }

    /// The same for another speaker, such as an extension.
    pub fn with_source(&self, source: &str) -> Self {
        Self { source: Arc::from(cut::name(source)), ..self.clone() }
    }

    /// The same with another least level.
    pub fn with_level(&self, least: Level) -> Self {
        Self { least, ..self.clone() }
    }

    /// Whether a record of this level would be written.
    pub fn is_enabled(&self, level: Level) -> bool {
        level >= self.least
    }

    /// Begins a record for someone who follows one decision.
    pub fn debug(&self, message: &str) -> RecordBuilder<'_> {
        self.entry(Level::Debug, message)
    }

    /// Begins a record of what happened.
    pub fn info(&self, message: &str) -> RecordBuilder<'_> {
        self.entry(Level::Info, message)
    }

    /// Begins a record of something wrong that was dealt with.
    pub fn warn(&self, message: &str) -> RecordBuilder<'_> {
        self.entry(Level::Warn, message)
    }

    /// Begins a record of something wrong that somebody must act on.
    pub fn error(&self, message: &str) -> RecordBuilder<'_> {
        self.entry(Level::Error, message)
    }

    /// Begins a record.
    pub fn entry(&self, level: Level, message: &str) -> RecordBuilder<'_> {
        let record = self.is_enabled(level).then(|| LogRecord {
            level,
            source: self.source.to_string(),
            message: cut::message(message),
            fields: Map::new(),
        });
        RecordBuilder { sink: self.sink.as_ref(), record, left_out: 0 }
    }
}

/// A record under construction. Nothing is written until [`RecordBuilder::write`].
#[must_use = "a record is only written by `write`"]
pub struct RecordBuilder<'a> {
    sink: &'a dyn LogSink,
    record: Option<LogRecord>,
    left_out: usize,
}

impl RecordBuilder<'_> {
    /// Adds a fact: never a payload, never a secret. Long values are cut.
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        if let Some(record) = &mut self.record {
            let name = cut::name(name);
            if record.fields.len() < MAX_FIELDS || record.fields.contains_key(&name) {
                record.fields.insert(name, cut::value(value.into()));
            } else {
                self.left_out += 1;
            }
        }
        self
    }

    /// Hands the record to the sink, unless its level is filtered out.
    pub fn write(self) {
        let Some(mut record) = self.record else { return };
        if self.left_out > 0 {
            record.fields.insert(LEFT_OUT.to_owned(), Value::from(self.left_out));
        }
        self.sink.write(record);
    }
}
