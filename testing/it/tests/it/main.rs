//! The one end-to-end binary: the real executables, in a temporary home and project.

#![allow(clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod agent;
mod canary;
mod cli;
mod config;
mod doctor;
mod events;
mod explain;
mod ext;
mod hook_process;
mod init;
mod intents_bypass;
mod intents_gate;
mod intents_host;
mod intents_record;
mod intents_streams;
mod intents_trace;
mod modules;
mod replay;
mod state;
mod trust;
