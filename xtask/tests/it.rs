//! Runs the real `xtask` executable against a small repository with planted violations.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the functions around the tests are tests too: a failure there fails the test"
)]

#[path = "it/clippy.rs"]
mod clippy;
#[path = "it/hook_size.rs"]
mod hook_size;
#[path = "it/layers.rs"]
mod layers;
#[path = "it/repository.rs"]
mod repository;
#[path = "it/schemas.rs"]
mod schemas;
#[path = "it/tidy.rs"]
mod tidy;
#[path = "it/usage.rs"]
mod usage;
