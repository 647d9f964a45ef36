//! Workspace hooks: a save, a commit, a schedule or an event from outside runs a prompt or a program in the background.

pub mod contract;

mod approval;
mod book;
mod config;
mod content;
mod custom_event;
mod engine;
mod extension;
mod git;
mod listing;
mod liveness;
mod log_file;
mod lsp;
mod matching;
mod performer;
mod root;
mod run_feed;
mod run_service;
mod runner;
mod sources;
#[cfg(test)]
mod tests;
mod timetable;
mod watch;
mod worker;

pub use extension::extension;
