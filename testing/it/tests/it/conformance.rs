//! The hook dispatcher's contract, rule by rule, against the real `dispatch-hook`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod s03_io;
mod s04_durability;
mod s05_ids_and_paths;
mod world;
