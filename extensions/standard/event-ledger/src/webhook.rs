//! The channel `webhook`: requests that programs send, signed or not, and answers that are posted back.

mod adapter;
mod check;
mod cloud_event;
mod endpoint;
mod payload;
mod reply;
mod signature;
mod webhook_settings;

pub(crate) use adapter::{WebhookAdapter, literal_secrets};
pub(crate) use endpoint::webhook_route;
pub(crate) use webhook_settings::{CHANNEL, configured_webhooks};
