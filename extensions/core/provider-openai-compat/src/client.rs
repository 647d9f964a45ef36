//! Builds the HTTP client that a server needs, on first use.

use crate::endpoint::Endpoint;
use dispatch_contracts::provider::{ProviderError, ProviderErrorKind};
use reqwest::Client;
use reqwest::redirect::{Attempt, Policy};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a connection is kept for the next step of a turn.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_REDIRECTS: usize = 5;

/// The clients built so far.
#[derive(Default)]
pub(crate) struct Clients {
    built: Mutex<BTreeMap<Kind, Client>>,
}

/// What differs between clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    encrypted: bool,
    loopback: bool,
}

impl Clients {
    /// The client for an endpoint.
    pub(crate) fn for_endpoint(&self, endpoint: &Endpoint) -> Result<Client, ProviderError> {
        let kind = Kind { encrypted: endpoint.is_encrypted(), loopback: endpoint.is_loopback() };
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = built.get(&kind) {
            return Ok(client.clone());
        }
        let client = build(kind)?;
        built.insert(kind, client.clone());
        Ok(client)
    }
}

fn build(kind: Kind) -> Result<Client, ProviderError> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls(kind)?)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .redirect(Policy::custom(same_origin))
        .user_agent(concat!("dispatch/", env!("CARGO_PKG_VERSION")));
    if kind.loopback {
        // A proxy cannot reach this machine's own loopback address.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| network(format!("the HTTP client cannot be made: {}", innermost(&error))))
}

/// Reading the system's certificates takes milliseconds and fails where there are none, so a plain
/// connection does without.
fn tls(kind: Kind) -> Result<ClientConfig, ProviderError> {
    let failed = |error: rustls::Error| network(format!("encryption cannot be set up: {error}"));
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let verified = if kind.encrypted {
        versions.with_platform_verifier().map_err(|error| {
            network(format!(
                "the certificates of this system cannot be read: {error}; SSL_CERT_FILE can name a file with some"
            ))
        })?
    } else {
        versions.with_root_certificates(rustls::RootCertStore::empty())
    };
    let mut config = verified.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Follows a redirect only where the credential may go too.
fn same_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let stays = attempt.previous().iter().all(|before| before.origin() == attempt.url().origin());
    if stays && attempt.previous().len() <= MAX_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

/// A failure of the connection, in words without the address's query.
pub(crate) fn failed(error: &reqwest::Error, server: &str) -> ProviderError {
    let cause = innermost(error);
    let lower = cause.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if error.is_timeout() && !error.is_connect() {
        return ProviderError::new(ProviderErrorKind::Timeout, format!("{server} went silent"));
    }
    let advice = if says(&["refused"]) {
        "; is the server running?"
    } else if says(&["certificate", "tls", "handshake"]) {
        "; its certificate is not one that this system trusts"
    } else if says(&["lookup", "resolve", "dns", "name or service"]) {
        "; check the host name in model.base_url and the network"
    } else {
        ""
    };
    network(format!("cannot reach {server}: {cause}{advice}"))
}

/// The cause at the bottom, which is what a person can act on.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

fn network(message: String) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Network, message)
}
