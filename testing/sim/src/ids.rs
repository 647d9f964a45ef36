//! Identifiers that are the same in every run.

use dispatch_contracts::ports::Ids;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts from 1: `id-1`, `id-2`, ...
#[derive(Debug, Default)]
pub struct CountingIds {
    last: AtomicU64,
}

impl Ids for CountingIds {
    fn next_id(&self) -> String {
        format!("id-{}", self.last.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
