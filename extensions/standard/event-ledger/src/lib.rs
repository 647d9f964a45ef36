//! The event ledger: what comes from outside is stored here before anything else happens with it.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

pub mod contract;

mod account_lease;
mod account_reader;
mod account_rows;
mod account_supervisor;
mod append_queue;
mod channel_counts;
mod channel_registry;
mod event_routes;
mod event_rows;
mod extension;
mod kept_replies;
mod ledger_service;
mod peer_signals;
mod person_rows;
mod prepared_event;
mod tables;
mod web;
mod webhook;

pub use extension::extension;
