//! The algorithm: which modules see an event, in which order, and how their answers become one. Pure.

mod effective;
mod fold;
mod folded;
mod phase_gate;
mod rewrite;
mod select;

#[cfg(test)]
mod tests;

pub(crate) use fold::{ModuleEnvironment, Stamps, fold};
pub use folded::GuardFinding;
pub(crate) use folded::{Folded, ModuleRun, Said};
pub use phase_gate::PHASE_GATE;
pub(crate) use phase_gate::{PHASE_CODE, PhaseGate};
pub(crate) use select::{Slot, select};
