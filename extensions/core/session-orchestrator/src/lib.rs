//! Queues input per session and runs turns, one at a time and never twice.

pub mod contract;

mod agent;
mod approval_service;
mod queue_store;
mod turn_scheduler;
mod session_service;
mod extension;
mod fallback;
mod session_feed;
mod inputs;
mod turn_runner;
mod permission;
mod queue;
mod redaction;
mod spill;
mod turn_environment;
mod state;
mod watching;

#[cfg(test)]
mod tests;

pub use extension::extension;
