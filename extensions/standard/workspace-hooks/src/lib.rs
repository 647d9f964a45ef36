//! Workspace hooks: a save, a commit, a schedule or an event from outside runs a prompt or a program in the background.

pub mod contract;

mod performer;
