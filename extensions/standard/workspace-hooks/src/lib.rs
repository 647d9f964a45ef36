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

mod content;
#[cfg_attr(not(test), allow(dead_code, reason = "the queue hands out the work"))]
mod performer;
mod root;
#[cfg_attr(not(test), allow(dead_code, reason = "the queue hands out the work"))]
mod runner;
mod worker;

pub use content::content_hash;
pub use root::workspace_of;
pub use worker::{Membership, WatchClaim, Workers};
