//! The one outgoing HTTP client: TLS, proxies, and which hosts are this machine.

#![forbid(unsafe_code)]

mod client;
mod error;
mod loopback;
mod resolver;

pub use client::{ClientKind, Redirects, client, is_loopback_url};
pub use error::{HttpError, root_cause};
pub use loopback::is_loopback_host;
