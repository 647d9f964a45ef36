//! Why no HTTP client could be built, and the cause at the bottom of a chain of errors.

use std::error::Error;

/// A client could not be built.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The TLS library refused its own settings.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// The certificates that this system trusts could not be read.
    #[error("cannot read the certificates of this system; SSL_CERT_FILE can name a file with some")]
    Certificates(#[source] rustls::Error),
    /// The HTTP library refused its settings.
    #[error("cannot build the HTTP client")]
    Client(#[source] reqwest::Error),
}

/// The cause at the bottom of a chain: what a person can act on, without a URL around it.
#[must_use]
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
