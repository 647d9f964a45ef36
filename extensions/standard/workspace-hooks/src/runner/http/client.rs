//! The connection to a server that answers prompts: where it may lead and how it is made.

use dispatch_http::{ClientKind, Redirects, is_loopback_url, root_cause};
use reqwest::{Client, Url};

/// Why nothing is sent to an address. The address itself may hold a secret and is not shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum ServerAddressError {
    #[error("invalid address: {0}; it looks like https://example.org/hook")]
    Unreadable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the address holds a user name or a password; use a header with ${{NAME}} instead")]
    HoldsCredential,
    #[error("the address must begin with https://, or with http:// for a server on this machine")]
    NotSafe,
}

/// Where a prompt may be sent.
pub(super) struct ServerAddress {
    url: Url,
}

impl ServerAddress {
    pub(super) fn parse(text: &str) -> Result<Self, ServerAddressError> {
        let url = Url::parse(text.trim()).map_err(|error| ServerAddressError::Unreadable(Box::new(error)))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ServerAddressError::HoldsCredential);
        }
        match url.scheme() {
            "https" if url.host_str().is_some() => Ok(Self { url }),
            "http" if is_loopback_url(&url) => Ok(Self { url }),
            _ => Err(ServerAddressError::NotSafe),
        }
    }

    pub(super) fn url(&self) -> Url {
        self.url.clone()
    }

    /// Scheme, host and port: what messages name.
    pub(super) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// A client that stays with this server. Made for each run: runs are rare, and nothing is kept open between.
    pub(super) fn client(&self) -> Result<Client, String> {
        dispatch_http::client(ClientKind::of(&self.url), Redirects::None)
            .map_err(|error| format!("{error}: {}", root_cause(&error)))
    }
}

/// A failed connection, worded without the URL's path and query.
pub(super) fn connection_failed(error: &reqwest::Error, server: &str) -> String {
    format!("cannot reach {server}: {}", root_cause(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_encrypted_servers_are_asked() {
        for address in [
            "https://example.org/x",
            "http://127.0.0.1:1/x",
            "http://localhost/x",
            "http://x.localhost/x",
            "http://[::1]:8/",
        ] {
            assert!(ServerAddress::parse(address).is_ok(), "{address}");
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
            let error = ServerAddress::parse(address).map(|_| ()).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
