//! The one place that writes to the terminal: data to stdout, messages for people to stderr.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the printer")]

use crate::app::Status;
use crate::failure::Failure;
use serde::Serialize;
use std::io::Write;

/// How a command prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Lines for a person.
    Text,
    /// One JSON object for a program.
    Json,
}

impl From<bool> for Format {
    fn from(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Writes results, warnings and failures.
pub(crate) struct Printer;

impl Printer {
    pub(crate) fn new() -> Self {
        Self
    }

    /// Writes text to stdout. A reader that has gone away is not an error.
    pub(crate) fn out(&self, text: &str) {
        // A closed pipe (`dispatch ... | head`) must not turn into a panic or an error message.
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    /// Writes one line to stdout at once; `Err` when the reader has gone away.
    pub(crate) fn stream(&self, line: &[u8]) -> std::io::Result<()> {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(line)?;
        stdout.write_all(b"\n")?;
        stdout.flush()
    }

    /// Writes bytes to stdout as they are.
    pub(crate) fn raw(&self, bytes: &[u8]) {
        let _ = std::io::stdout().lock().write_all(bytes);
    }

    /// Writes bytes to stdout at once, as a model streams them.
    pub(crate) fn raw_now(&self, bytes: &[u8]) {
        let mut stdout = std::io::stdout().lock();
        // A reader that has gone away is not an error.
        let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    }

    /// Writes one JSON value to stdout.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value).map_err(|error| Failure::of(Status::Internal, &error))?;
        self.out(&text);
        Ok(())
    }

    /// Tells a person what is going on.
    pub(crate) fn note(&self, message: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{message}");
    }

    /// Tells a person what was left out or is odd.
    pub(crate) fn warn(&self, message: &str) {
        let _ = writeln!(std::io::stderr().lock(), "warning: {message}");
    }

    /// Tells a person why the command failed and what would help.
    pub(crate) fn failure(&self, failure: &Failure) {
        let mut stderr = std::io::stderr().lock();
        for message in &failure.messages {
            let _ = writeln!(stderr, "error: {message}");
        }
        for cause in &failure.causes {
            let _ = writeln!(stderr, "  caused by: {cause}");
        }
        for hint in &failure.hints {
            let _ = writeln!(stderr, "hint: {hint}");
        }
    }
}

/// Rows as text, every column as wide as its widest cell; no blanks at the end of a line.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_clean() {
        let rows = [vec!["a".into(), "long".into(), "x".into()], vec!["bbb".into(), "s".into()]];
        assert_eq!(table(&rows), "a    long  x\nbbb  s");
        assert_eq!(table(&[]), "");
    }
}
