//! Workspace hooks: a save, a commit, a schedule or an event from outside runs a prompt or a program in the background.

pub mod contract;

mod book;
mod desk;
mod engine;
mod extension;
mod liveness;
mod log_file;
mod news;
#[allow(dead_code, reason = "the runners use the other half of this seam")]
mod performer;
#[cfg(test)]
mod tests;

pub use extension::extension;
