//! The connection to a server that answers prompts: where it may lead and how it is made.

use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// Why nothing is sent to an address. The address itself may hold a secret and is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadAddress {
    #[error("the address is none: {0}; it looks like https://example.org/hook")]
    Unreadable(String),
    #[error("the address holds a user name or a password; use a header with ${{NAME}} instead")]
    HoldsCredential,
    #[error("the address must begin with https://, or with http:// for a server on this machine")]
    NotSafe,
}

/// Where a prompt may be sent.
pub(super) struct Address {
    url: Url,
    is_loopback: bool,
}

impl Address {
    pub(super) fn of(text: &str) -> Result<Self, BadAddress> {
        let url = Url::parse(text.trim()).map_err(|error| BadAddress::Unreadable(error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadAddress::HoldsCredential);
        }
        let is_loopback = is_loopback(&url);
        match url.scheme() {
            "https" if url.host_str().is_some() => Ok(Self { url, is_loopback }),
            "http" if is_loopback => Ok(Self { url, is_loopback }),
            _ => Err(BadAddress::NotSafe),
        }
    }

    pub(super) fn url(&self) -> Url {
        self.url.clone()
    }

    /// Scheme, host and port: what messages name.
    pub(super) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// A client that stays with this server. Made for each run: they are seldom, and nothing is kept open between.
    pub(super) fn client(&self) -> Result<Client, String> {
        let mut builder = Client::builder()
            .tls_backend_preconfigured(self.tls()?)
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .user_agent(concat!("dispatch/", env!("CARGO_PKG_VERSION")));
        if self.is_loopback {
            // A proxy cannot reach this machine's own loopback address.
            builder = builder.no_proxy();
        }
        builder.build().map_err(|error| format!("the HTTP client cannot be made: {}", innermost(&error)))
    }

    /// A plain connection does without the system's certificates, which take a while to read.
    fn tls(&self) -> Result<ClientConfig, String> {
        let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("encryption cannot be set up: {error}"))?;
        let verified = if self.url.scheme() == "https" {
            versions
                .with_platform_verifier()
                .map_err(|error| format!("the certificates of this system cannot be read: {error}"))?
        } else {
            versions.with_root_certificates(rustls::RootCertStore::empty())
        };
        let mut config = verified.with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// A failure of the connection, in words without the address's path and query.
pub(super) fn failed(error: &reqwest::Error, server: &str) -> String {
    format!("cannot talk to {server}: {}", innermost(error))
}

fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_encrypted_servers_are_asked() {
        for address in ["https://example.org/x", "http://127.0.0.1:1/x", "http://localhost/x", "http://[::1]:8/"] {
            assert!(Address::of(address).is_ok(), "{address}");
        }
        for address in [
            "http://example.org/",
            "http://localhost.example.org/",
            "http://10.0.0.1/",
            "http://169.254.169.254/latest",
            "file:///etc/passwd",
            "ftp://127.0.0.1/",
            "unix:/run/x",
            "",
            "https://user:hunter2hunter2@example.org/",
            "http://0x7f.1.evil.example/",
        ] {
            let error = Address::of(address).map(|_| ()).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
