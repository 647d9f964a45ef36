//! What a module says beside its action while it runs: log lines, warnings, exceptions it used.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::RuleException;

/// The most lines and the most warnings one module may leave in one invocation.
const MAX_NOTES: usize = 200;

/// How much a log line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// For the author of the module.
    Debug,
    /// What happened.
    Info,
    /// Something is odd.
    Warn,
    /// Something failed.
    Error,
}

impl LogLevel {
    /// The word in the log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// One line for a module's `debug.log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How much it matters.
    pub level: LogLevel,
    /// What it says.
    pub message: String,
}

/// The notes of one module in one invocation.
#[derive(Debug, Default)]
pub struct Notes {
    lines: RefCell<Vec<LogLine>>,
    warnings: RefCell<Vec<String>>,
    excused: RefCell<Vec<RuleException>>,
}

impl Notes {
    /// Adds a line for the log.
    pub fn log(&self, level: LogLevel, message: String) {
        push_bounded(&self.lines, LogLine { level, message });
    }

    /// Adds a warning.
    pub fn warn(&self, message: String) {
        push_bounded(&self.warnings, message);
    }

    /// Notes that an exception let something pass.
    pub fn excuse(&self, exception: RuleException) {
        if !self.excused.borrow().contains(&exception) {
            push_bounded(&self.excused, exception);
        }
    }

    /// Takes out what was noted.
    #[must_use]
    pub fn take(&self) -> (Vec<LogLine>, Vec<String>, Vec<RuleException>) {
        (self.lines.take(), self.warnings.take(), self.excused.take())
    }
}

fn push_bounded<T>(list: &RefCell<Vec<T>>, item: T) {
    let mut list = list.borrow_mut();
    if list.len() < MAX_NOTES {
        list.push(item);
    }
}
