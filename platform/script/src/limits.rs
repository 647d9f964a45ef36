//! Every bound a script runs under, in one place and with a name.
//!
//! Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Most sources one load may pull in by imports.
pub(crate) const MAX_IMPORTS: usize = 256;
/// Deepest bracket nesting accepted in TypeScript; its parser recurses on the native stack.
pub(crate) const MAX_TYPESCRIPT_NESTING: usize = 1_000;
/// Most log lines one load or call may write.
pub(crate) const DEFAULT_LOG_LINES: usize = 200;
/// Longest log line; the rest is cut.
pub(crate) const DEFAULT_LOG_LINE_BYTES: usize = 4 * 1024;

/// Least heap: a context alone needs about 60 KiB, and zero would mean no limit to the engine.
pub(crate) const MIN_MEMORY_BYTES: usize = 1024 * 1024;
/// The heap is searched for cycles of garbage when it has grown to this part of its limit,
pub(crate) const GARBAGE_SHARE: usize = 8;
/// but not before this. A short process never gets there, so it never pays for the search.
pub(crate) const MIN_GARBAGE_BYTES: usize = 256 * 1024;
/// Least stack; zero would mean no limit to the engine.
pub(crate) const MIN_STACK_BYTES: usize = 64 * 1024;
/// Most stack; more would mean no limit to the engine.
pub(crate) const MAX_STACK_BYTES: usize = 16 * 1024 * 1024;

/// What a script may use. The defaults suit a hook; a caller lowers or raises single fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock budget of each load and each call.
    pub time: Duration,
    /// Bytes of the JavaScript heap, shared by all scripts of one engine; at least 1 MiB.
    pub memory_bytes: usize,
    /// Bytes of native stack, counted from where the engine was made. Between 64 KiB and 16 MiB; keep it well
    /// under the thread's own stack.
    pub stack_bytes: usize,
    /// Bytes of one source.
    pub source_bytes: usize,
    /// Bytes of one JSON value in or out: all arguments together, one result, one host call.
    pub value_bytes: usize,
    /// Log lines of one load or call.
    pub log_lines: usize,
    /// Bytes of one log line.
    pub log_line_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_millis(300),
            memory_bytes: 64 * 1024 * 1024,
            stack_bytes: 512 * 1024,
            source_bytes: 4 * 1024 * 1024,
            value_bytes: 8 * 1024 * 1024,
            log_lines: DEFAULT_LOG_LINES,
            log_line_bytes: DEFAULT_LOG_LINE_BYTES,
        }
    }
}
