//! Whole invocations on real files.

mod answers;
mod blocked;
mod broken;
mod database;
mod durability;
mod layout;
mod redelivery;
mod workspace;
