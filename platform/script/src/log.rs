//! Where `console` goes: a sink of the caller's, behind a bound on number and size of lines.

use std::cell::Cell;

use serde::{Deserialize, Serialize};

use crate::error::cut;
use crate::limits::Limits;

/// Which `console` method was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// `console.debug`
    Debug,
    /// `console.log`
    Log,
    /// `console.info`
    Info,
    /// `console.warn`
    Warn,
    /// `console.error`
    Error,
}

impl LogLevel {
    pub(crate) const ALL: [(Self, &'static str); 5] = [
        (Self::Debug, "debug"),
        (Self::Log, "log"),
        (Self::Info, "info"),
        (Self::Warn, "warn"),
        (Self::Error, "error"),
    ];
}

/// Receives the lines a script logs. A line may contain newlines.
pub trait LogSink {
    /// Takes one line.
    fn line(&self, level: LogLevel, text: &str);
}

impl<F: Fn(LogLevel, &str)> LogSink for F {
    fn line(&self, level: LogLevel, text: &str) {
        self(level, text);
    }
}

/// Passes lines on until the budget of one load or call is used up.
pub(crate) struct BoundedLog {
    sink: Option<Box<dyn LogSink>>,
    lines_left: Cell<usize>,
    lines: usize,
    line_bytes: usize,
}

impl BoundedLog {
    pub(crate) fn new(sink: Option<Box<dyn LogSink>>, limits: &Limits) -> Self {
        Self {
            sink,
            lines_left: Cell::new(limits.log_lines),
            lines: limits.log_lines,
            line_bytes: limits.log_line_bytes,
        }
    }

    pub(crate) fn refill(&self) {
        self.lines_left.set(self.lines);
    }

    pub(crate) fn write(&self, level: LogLevel, mut text: String) {
        let (Some(sink), left @ 1..) = (&self.sink, self.lines_left.get()) else {
            return;
        };
        self.lines_left.set(left - 1);
        if cut(&mut text, self.line_bytes) {
            text.push_str(" [cut]");
        }
        sink.line(level, &text);
        if left == 1 {
            let lines = self.lines;
            sink.line(LogLevel::Warn, &format!("[log limit of {lines} lines reached; further lines are dropped]"));
        }
    }
}
