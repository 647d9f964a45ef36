//! The one outgoing HTTP client: TLS, proxies, and which hosts are this machine.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes"))]
#![forbid(unsafe_code)]

mod client;
mod error;
mod loopback;
mod resolver;

pub use client::{ClientKind, Redirects, client, is_loopback_url};
pub use error::{HttpError, root_cause};
pub use loopback::is_loopback_host;
