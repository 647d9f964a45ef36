//! Tests against the real operating system: processes, files, locks and the alarm.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "the whole binary is a test"
)]

mod alarm;
mod append;
mod guardian;
mod lock;
mod marker;
mod observe;
mod process;
mod read;
mod replace;
mod role;
mod sandbox;
mod sweep;
mod tree;
mod waiting;
