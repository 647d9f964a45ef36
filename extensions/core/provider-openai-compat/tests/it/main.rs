//! The providers in a real extension host, against real sockets.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod behaviour;
mod failures;
mod host;
mod origins;
