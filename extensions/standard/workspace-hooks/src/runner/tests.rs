//! The executor with real programs, real git, a real server and the real session queue.

mod agents;
mod canaries;
mod commands;
mod inbox_notes;
mod runner_host;
mod servers;
mod sessions;
mod worktrees;
