//! Serves sessions over HTTP, server-sent events, WebSocket and standard streams.

mod acp;
pub mod contract;
mod desk;
mod extension;
mod follow;
mod guard;
mod http;
mod line;
mod message;
mod openai;
mod refusal;
mod settings;
mod talk;
mod token;

pub use extension::extension;
