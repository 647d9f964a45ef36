//! Test support: a place to run the real executables in, cut off from the user's own files, and a
//! model server that follows a script.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot be set up has failed")]

#[cfg(unix)]
mod certificates;
mod context;
mod output;
#[cfg(unix)]
mod pgbouncer;
#[cfg(unix)]
mod postgres;
mod scripted_model;
mod serve;
mod slow_lane;
pub mod storage;
#[cfg(unix)]
mod terminal;
#[cfg(feature = "tools")]
mod tool_host;

#[cfg(unix)]
pub use certificates::Certificates;
pub use context::TestContext;
pub use output::Output;
#[cfg(unix)]
pub use pgbouncer::PgBouncer;
#[cfg(unix)]
pub use postgres::PostgresServer;
pub use scripted_model::{After, Recorded, Reply, Script, ScriptedModel, Step, strict_problem};
pub use serve::{Answer, Client, Served};
pub use slow_lane::{seeds, slow_lane};
#[cfg(unix)]
pub use terminal::Terminal;
#[cfg(feature = "tools")]
pub use tool_host::{TestToolHost, block_on, object};
