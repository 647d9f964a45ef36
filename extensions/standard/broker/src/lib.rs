//! Asks routing hooks where an event goes, and hands it to the right session with the right permissions, once.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

pub mod contract;

mod dispatch_plan;
mod event_intake;
mod event_receipts;
mod extension;
mod hand_over;
mod hook_catalogue;
mod hook_evaluation;
mod hook_files;
mod hook_questions;
mod hook_result;
mod hook_workers;
mod journal;
mod journal_counts;
mod journal_queries;
#[cfg(test)]
mod journal_tests;
mod message_text;
mod metrics_route;
mod permission_set;
mod persona;
mod persona_files;
mod reply_sending;
mod route_metrics;
mod route_service;
mod router;
mod sender_standing;
mod session_key;
mod spare_workers;
mod tables;
#[cfg(test)]
mod tests;

pub use extension::extension;
