//! Whole invocations on real files.

mod answers;
mod broken;
mod durability;
mod redelivery;
mod workspace;
