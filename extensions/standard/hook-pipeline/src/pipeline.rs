//! The algorithm: which modules see an event, in which order, and how their answers become one. Pure.

mod effective;
mod fold;
mod folded;
mod phase_gate;
mod rewrite;
mod select;

#[cfg(test)]
mod tests;

pub use fold::{ModuleEnvironment, Stamps, fold};
pub use folded::{Folded, ModuleRun, Said};
pub use phase_gate::{PHASE_CODE, PHASE_GATE, PhaseGate};
pub use select::{Selection, Slot, select};
