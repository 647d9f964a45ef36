//! Serves sessions over HTTP, server-sent events, WebSocket and standard streams.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]

mod acp;
mod approval_answer;
pub mod contract;
mod dispatch_follower;
mod extension;
mod guard;
mod http;
mod line;
mod message;
mod message_channel;
mod openai;
mod refusal;
mod services;
mod settings;
mod token;

pub use extension::extension;
