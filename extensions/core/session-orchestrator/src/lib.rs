//! Queues input per session and runs turns, one at a time and never twice.

pub mod contract;
