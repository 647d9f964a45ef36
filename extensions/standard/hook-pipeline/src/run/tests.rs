//! Whole invocations on real files.

mod answers;
mod broken;
mod database;
mod durability;
mod redelivery;
mod workspace;
