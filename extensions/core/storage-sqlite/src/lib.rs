//! Keeps everybody's data in one SQLite file, or in memory.

mod backup;
mod bookkeeping;
pub mod contract;
mod database;
mod deferred;
mod error;
mod extension;
mod guard;
mod inspect;
mod migrate;
mod place;
mod queue;
mod readers;
mod store;
mod writer;

pub use extension::extension;
