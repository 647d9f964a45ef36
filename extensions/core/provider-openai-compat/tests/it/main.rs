//! The providers in a real extension host, against real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod behaviour;
mod failures;
mod host;
mod origins;
