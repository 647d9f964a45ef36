//! A deterministic executor with a virtual clock: hours of waiting run in microseconds, a hang is
//! reported instead of hanging, and a seed decides which of the ready tasks goes next.

mod clock;
mod executor;
mod ids;
mod inline_store;

pub use clock::SimClock;
pub use executor::{Sim, SimSpawner, Stalled};
pub use ids::CountingIds;
pub use inline_store::{InlineStore, wait};
