//! The transports over real sockets and pipes, in front of the real queue, store and provider.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod acp;
mod approvals;
mod chat;
mod client;
mod document;
mod door;
mod events;
mod messages;
mod rig;
mod socket;
mod stdio;
