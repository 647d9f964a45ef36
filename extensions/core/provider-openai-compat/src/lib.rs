//! Streams replies from any server that speaks the OpenAI chat protocol, or rehearses without one.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]
#![forbid(unsafe_code)]

mod answer_reader;
mod arguments;
mod assembly;
mod attempt;
mod choice;
mod client;
pub mod contract;
mod credentials;
mod discovery;
mod endpoint;
mod excerpt;
mod extension;
mod failure;
mod local_server;
mod models;
mod provider;
mod reasoning;
mod reducer;
mod rehearsal;
mod request;
mod retry;
mod sse;
mod tool_names;

pub use extension::extension;
