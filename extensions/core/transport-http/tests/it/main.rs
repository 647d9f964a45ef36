//! The transports over real sockets and pipes, in front of the real queue, store and provider.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod acp;
mod admission;
mod approvals;
mod chat;
mod client;
mod document;
mod events;
mod messages;
mod server;
mod socket;
mod stdio;
