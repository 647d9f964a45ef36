//! How often hooks decided what, and how long they took, counted by the database.

use crate::journal::Journal;
use crate::route_metrics::CountedOutcome;
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Record, StorageError};

impl Journal {
    /// What hooks decided at this time or later, in Unix milliseconds: one line per hook, outcome and whole millisecond.
    pub(crate) async fn outcome_counts(&self, since_ms: u64) -> Result<Vec<CountedOutcome>, StorageError> {
        let query = statement!(
            "SELECT hook, outcome, ms, count(*) FROM hook_invocations WHERE at >= ?1 GROUP BY hook, outcome, ms",
            since_ms
        );
        let found = self.storage.query(query).await?;
        let count = |record: &Record| {
            Ok(CountedOutcome {
                hook: record.text(0)?.to_owned(),
                outcome: record.text(1)?.to_owned(),
                ms: record.unsigned(2)?,
                count: record.unsigned(3)?,
            })
        };
        found.iter().map(count).collect()
    }
}
