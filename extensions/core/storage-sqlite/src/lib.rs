//! Keeps everybody's data in one SQLite file, or in memory.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod backup;
pub mod contract;
mod database;
mod deferred;
mod deletion;
mod error;
mod extension;
mod guard;
mod in_memory;
mod inspect;
mod job_queue;
mod late_words;
mod layout;
mod migrate;
mod quiet_window;
mod readers;
mod resolved_location;
mod store;
mod word_index;
mod writer;

pub use extension::extension;
