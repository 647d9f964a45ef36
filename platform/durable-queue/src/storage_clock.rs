//! The clock that leases are kept by: the database's own where it has one, so that a machine whose clock is wrong takes
//! nobody's lease away.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::storage::StorageBackend;
use std::sync::Arc;

/// A clock whose time is the database's, and whose waits are the machine's.
pub struct StorageClock {
    /// The machine's clock.
    pub machine: Arc<dyn Clock>,
    /// The database.
    pub storage: Arc<dyn StorageBackend>,
}

impl Clock for StorageClock {
    fn now_ms(&self) -> u64 {
        self.storage.now_ms().unwrap_or_else(|| self.machine.now_ms())
    }

    fn monotonic_ms(&self) -> u64 {
        self.machine.monotonic_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        self.machine.sleep_ms(ms)
    }
}
