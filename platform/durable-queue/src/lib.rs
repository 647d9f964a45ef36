//! What every durable queue needs, whatever it queues: typed transactions, leases, liveness, wake-ups and a drain.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod drain;
mod lease;
mod liveness;
mod storage_clock;
mod transaction;
mod wake;

pub use drain::{DRAIN_MS, drain};
pub use lease::LeaseToken;
pub use liveness::{OwnerLiveness, Standing};
pub use storage_clock::StorageClock;
pub use transaction::{transact, transact_with};
pub use wake::WakeSignal;
