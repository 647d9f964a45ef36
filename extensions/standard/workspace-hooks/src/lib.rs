//! Workspace hooks: a save, a commit, a schedule or an event from outside runs a prompt or a program in the background.

pub mod approval;
pub mod config;
pub mod contract;
pub mod matching;
pub mod timetable;

mod performer;
mod root;

pub use root::workspace_of;
