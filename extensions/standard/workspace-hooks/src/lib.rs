//! Workspace hooks: a save, a commit, a schedule or an event from outside runs a prompt or a program in the background.

pub mod approval;
pub mod config;
pub mod contract;
pub mod git;
pub mod lsp;
pub mod matching;
pub mod outside;
pub mod timetable;
pub mod watch;

mod book;
mod content;
mod desk;
mod engine;
mod extension;
mod liveness;
mod log_file;
mod news;
#[allow(dead_code, reason = "the runners use the other half of this seam")]
mod performer;
mod root;
mod runner;
mod sources;
#[cfg(test)]
mod tests;
mod worker;

pub use content::content_hash;
pub use extension::extension;
pub use root::workspace_of;
pub use worker::{Membership, WatchClaim, Workers};
