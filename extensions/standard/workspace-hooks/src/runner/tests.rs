//! The performer with real programs, real git, a real server and the real session queue.

mod agents;
mod asked;
mod canaries;
mod commands;
mod rig;
mod servers;
mod sessions;
mod worktrees;
