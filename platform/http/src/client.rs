//! Builds the client that a server needs: with TLS or without, through the proxy of the environment or directly.

use crate::error::HttpError;
use crate::loopback::is_loopback_host;
use crate::resolver::LoopbackResolver;
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Url};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a connection is kept for the next request.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_REDIRECTS: usize = 5;

/// What differs between clients: servers of one kind can share a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientKind {
    is_encrypted: bool,
    is_loopback: bool,
}

impl ClientKind {
    /// The kind that the server of a URL needs.
    #[must_use]
    pub fn of(url: &Url) -> Self {
        Self { is_encrypted: url.scheme() == "https", is_loopback: is_loopback_url(url) }
    }
}

/// Whether the host of a URL is this machine.
#[must_use]
pub fn is_loopback_url(url: &Url) -> bool {
    url.host_str().is_some_and(is_loopback_host)
}

/// Which redirects a client follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// None: the redirect is the answer.
    None,
    /// Those to the same scheme, host and port, where the credential may go too; at most five.
    SameOrigin,
}

/// A client for servers of one kind. A client for this machine uses no proxy and no DNS.
pub fn client(kind: ClientKind, redirects: Redirects) -> Result<Client, HttpError> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls(kind)?)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .redirect(match redirects {
            Redirects::None => Policy::none(),
            Redirects::SameOrigin => Policy::custom(same_origin),
        })
        .user_agent(concat!("dispatch/", env!("CARGO_PKG_VERSION")));
    if kind.is_loopback {
        builder = builder.no_proxy().dns_resolver(LoopbackResolver);
    }
    builder.build().map_err(HttpError::Client)
}

/// Reading the system's certificates takes milliseconds and fails where there are none, so a plain
/// connection does without.
fn tls(kind: ClientKind) -> Result<ClientConfig, HttpError> {
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(HttpError::Tls)?;
    let verified = if kind.is_encrypted {
        versions.with_platform_verifier().map_err(HttpError::Certificates)?
    } else {
        versions.with_root_certificates(rustls::RootCertStore::empty())
    };
    let mut config = verified.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn same_origin(attempt: Attempt<'_>) -> Action {
    let stays = attempt.previous().iter().all(|before| before.origin() == attempt.url().origin());
    if stays && attempt.previous().len() <= MAX_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_judged_by_the_host_that_is_connected_to() {
        for (url, expected) in [
            ("http://localhost:11434/v1", true),
            ("http://X.LOCALHOST/", true),
            ("http://2130706433/", true),
            ("http://127.1/", true),
            ("http://0x7f.0.0.1/", true),
            ("http://[::1]:8080/", true),
            ("http://127.0.0.1.evil.com/", false),
            ("http://127.0.0.1@evil.com/", false),
            ("http://localhost\\@evil.com/", true),
            ("http://evil.com/localhost", false),
            ("http://evil.com#.localhost", false),
            ("file:///localhost", false),
        ] {
            assert_eq!(is_loopback_url(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
