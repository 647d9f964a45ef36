//! Keeps one HTTP client per kind of server, built on first use, and words the failures of connections.

use crate::endpoint::Endpoint;
use dispatch_contracts::provider::{ProviderError, ProviderErrorKind};
use dispatch_http::{ClientKind, HttpError, Redirects, root_cause};
use reqwest::Client;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The clients built so far.
#[derive(Default)]
pub(crate) struct HttpClients {
    built: Mutex<BTreeMap<ClientKind, Client>>,
}

impl HttpClients {
    /// The client for an endpoint.
    pub(crate) fn for_endpoint(&self, endpoint: &Endpoint) -> Result<Client, ProviderError> {
        let kind = endpoint.client_kind();
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = built.get(&kind) {
            return Ok(client.clone());
        }
        let client = dispatch_http::client(kind, Redirects::SameOrigin).map_err(|error| not_built(&error))?;
        built.insert(kind, client.clone());
        Ok(client)
    }
}

fn not_built(error: &HttpError) -> ProviderError {
    network(format!("{error}: {}", root_cause(error)))
}

/// A failed connection, worded without the URL's path and query.
pub(crate) fn failed(error: &reqwest::Error, server: &str) -> ProviderError {
    let cause = root_cause(error);
    let lower = cause.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if error.is_timeout() && !error.is_connect() {
        return ProviderError::new(ProviderErrorKind::Timeout, format!("{server} stopped answering"));
    }
    let advice = if says(&["refused"]) {
        "; is the server running?"
    } else if says(&["certificate", "tls", "handshake"]) {
        "; this system does not trust its certificate"
    } else if says(&["lookup", "resolve", "dns", "name or service"]) {
        "; check the host name in model.base_url and the network"
    } else {
        ""
    };
    network(format!("cannot reach {server}: {cause}{advice}"))
}

fn network(message: String) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Network, message)
}
