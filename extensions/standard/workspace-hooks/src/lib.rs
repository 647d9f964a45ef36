//! Workspace hooks: a save, a commit, a schedule or an event from outside runs a prompt or a program in the background.

pub mod contract;
pub mod git;
pub mod lsp;
pub mod outside;
pub mod watch;

mod content;
mod performer;
mod root;
mod worker;

pub use content::content_hash;
pub use root::workspace_of;
pub use worker::{Membership, WatchClaim, Workers};
