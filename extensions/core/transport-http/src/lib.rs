//! Serves sessions over HTTP, server-sent events, WebSocket and standard streams.

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
