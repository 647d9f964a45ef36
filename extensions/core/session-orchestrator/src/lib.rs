//! Queues input per session and runs turns, one at a time and never twice.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

pub mod contract;

mod approval_service;
mod extension;
mod fallback;
mod grant;
mod history_reader;
mod inputs;
mod outbox_service;
mod permission;
mod persona_checks;
mod queue;
mod queue_store;
mod redaction;
mod reply;
mod reply_attempt;
mod scope;
mod session_feed;
mod session_service;
mod spill;
mod state;
mod tool_bounds;
mod turn_environment;
mod turn_runner;
mod turn_scheduler;
mod watching;

#[cfg(test)]
mod tests;

pub use extension::extension;
