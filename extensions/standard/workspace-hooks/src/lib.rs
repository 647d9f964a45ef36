//! Workspace hooks: a save, a commit, a schedule or an event from outside runs a prompt or a program in the background.

pub mod contract;

#[cfg_attr(not(test), allow(dead_code, reason = "the queue hands out the work"))]
mod performer;
#[cfg_attr(not(test), allow(dead_code, reason = "the queue hands out the work"))]
mod runner;
