//! Queues input per session and runs turns, one at a time and never twice.

pub mod contract;

mod agent;
mod approvals;
mod book;
mod conductor;
mod desk;
mod extension;
mod fallback;
mod hub;
mod inputs;
mod performer;
mod permission;
mod queue;
mod redaction;
mod spill;
mod stage;
mod state;
mod watching;

#[cfg(test)]
mod tests;

pub use extension::extension;
