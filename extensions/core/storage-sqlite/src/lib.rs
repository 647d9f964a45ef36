//! Keeps everybody's data in one SQLite file, or in memory.

pub mod contract;
