//! What an executable printed, with the paths of the test taken out.

use serde_json::Value;
use std::path::Path;

/// The end of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit status; -1 when a signal ended it.
    pub status: i32,
    /// Standard output, with the test's folder written as `[TEST]`.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
}

impl Output {
    pub(crate) fn new(output: std::process::Output, base: &Path) -> Self {
        let clean = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&base.display().to_string(), "[TEST]");
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: clean(&output.stdout),
            stderr: clean(&output.stderr),
        }
    }

    /// Standard output as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }

    /// All of it, for a snapshot.
    #[must_use]
    pub fn snapshot(&self) -> String {
        format!("status: {}\n--- stdout\n{}--- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}
