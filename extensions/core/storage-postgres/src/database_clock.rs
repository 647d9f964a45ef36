//! The database's clock without asking it each time: its last answer, and how long ago that was.

use dispatch_os::time::monotonic_ms;
use std::sync::{Mutex, PoisonError};

/// What the database said last.
#[derive(Default)]
pub(crate) struct DatabaseClock {
    heard: Mutex<Option<HeardTime>>,
}

#[derive(Clone, Copy)]
struct HeardTime {
    at_monotonic_ms: u64,
    database_ms: u64,
}

impl DatabaseClock {
    /// Notes the time that the database just gave.
    pub(crate) fn hear(&self, database_ms: u64) {
        let heard = HeardTime { at_monotonic_ms: monotonic_ms(), database_ms };
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(heard);
    }

    /// The time there now.
    pub(crate) fn now_ms(&self) -> Option<u64> {
        let heard = (*self.heard.lock().unwrap_or_else(PoisonError::into_inner))?;
        Some(heard.database_ms + monotonic_ms().saturating_sub(heard.at_monotonic_ms))
    }
}
