//! Keeps everybody's data in one SQLite file, or in memory.

mod backup;
pub mod contract;
mod database;
mod deferred;
mod error;
mod extension;
mod guard;
mod inspect;
mod job_queue;
mod layout;
mod migrate;
mod readers;
mod resolved_location;
mod store;
mod writer;

pub use extension::extension;
