//! How each host spells its hook events and wants its answers, and which files make it call Dispatch.
//!
//! Values in, values out: nothing here touches a file. Reading payloads, writing registrations and starting
//! programs is left to whoever uses it.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod answer;
pub mod dialect;
pub mod register;

pub use answer::{Answer, EXIT_BLOCKED, Reply};
pub use dialect::{Dialect, Hints, InputError, ParseFailure, Parsed};
