//! The hook dispatcher's contract, rule by rule, against the real `dispatch-hook`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod s03_io;
mod s04_durability;
mod s05_ids_and_paths;
mod s06_context;
mod s07_modules;
mod s08_dispatch;
mod s09_rewrites;
mod s10_errors;
mod s11_neo4j;
mod s12_phases;
mod s13_hot_path;
mod s14_registry;
mod s15_s16_files;
mod world;
