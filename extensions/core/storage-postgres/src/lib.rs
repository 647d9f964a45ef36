//! Keeps everybody's data in a PostgreSQL database that several machines share.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod connection;
pub mod contract;
mod database_clock;
mod deletion;
mod error;
mod extension;
mod key_locks;
mod layout;
mod migrate;
mod notices;
mod sql;
mod store;
mod tls;
mod transaction;
mod values;
mod word_search;
mod workers;

pub use extension::extension;
