//! A deterministic executor with a virtual clock: hours of waiting run in microseconds, a hang is
//! reported instead of hanging, and a seed decides which of the ready tasks goes next.

mod clock;
mod executor;
mod faulty_store;
mod ids;
mod inline_store;
mod random;

pub use clock::SimClock;
pub use executor::{Sim, SimSpawner, Stalled};
pub use faulty_store::{FaultyStore, StoreFaults};
pub use ids::CountingIds;
pub use inline_store::{InlineStore, wait};
pub use random::SeededRandom;
