//! The compliance suite for extensions: what an extension promises is checked in a real host, and so is that the host
//! contains it when its code fails, hangs, floods, dies or reaches for what it was not given.
//!
//! The suite knows an extension by the trait alone. A fault is put into it either around it ([`with_fault`], for what is
//! compiled in) or into a copy of its files ([`folder_with_fault`], for TypeScript), so the same checks run on both.

#![forbid(unsafe_code)]

mod checks;
mod compiled_fault;
mod fault;
mod script_fault;
mod scripted_turn;
mod suite;
mod test_host;

pub use compiled_fault::with_fault;
pub use fault::InjectedFault;
pub use script_fault::folder_with_fault;
pub use suite::{CheckResult, MadeExtension, Outcome, Subject, check_extension};
