//! Workspace hooks: a save, a commit, a schedule or an event from outside runs a prompt or a program in the background.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

pub mod contract;

mod approval;
mod approval_routes;
mod config;
mod content;
mod custom_event;
mod engine;
mod extension;
mod file_names;
mod git;
mod listing;
mod log_file;
mod lsp;
mod matching;
mod recorded_event;
mod root;
mod run_executor;
mod run_feed;
mod run_routes;
mod run_service;
mod run_store;
mod runner;
mod sources;
#[cfg(test)]
mod tests;
mod timetable;
mod watch;
mod worker;

pub use extension::extension;
