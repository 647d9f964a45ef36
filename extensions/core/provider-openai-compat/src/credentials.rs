//! Asks the credential sources of all extensions for the key of one server.

use crate::contract::OPENAI_COMPAT;
use dispatch_contracts::auth::{Auth, AuthScope, Credential};
use dispatch_contracts::host::Host;
use dispatch_contracts::provider::{ProviderError, ProviderErrorKind};
use dispatch_contracts::secret::SecretError;
use dispatch_kernel::host::HOST;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use std::sync::Arc;

/// A credential as it is sent.
pub(crate) struct SentCredential {
    /// The header, marked so that nothing prints it.
    pub(crate) header: Option<(HeaderName, HeaderValue)>,
    /// What must not show up in any message.
    pub(crate) secrets: Vec<String>,
}

/// The credential for a server. Without one the server is asked without a key: many need none.
pub(crate) async fn for_audience(host: &Host, audience: &str) -> Result<SentCredential, ProviderError> {
    let scope = AuthScope { provider: OPENAI_COMPAT.to_owned(), audience: audience.to_owned() };
    for source in sources(host) {
        match source.credential(&scope).await {
            Ok(Credential::Bearer(key)) => {
                return sent(AUTHORIZATION, &format!("Bearer {}", key.expose()), key.expose());
            }
            Ok(Credential::Header { name, value }) => {
                let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unfit("its header name"))?;
                return sent(name, value.expose(), value.expose());
            }
            Ok(Credential::None) | Err(SecretError::Missing { .. }) => {}
            Err(error @ SecretError::Store { .. }) => {
                return Err(ProviderError::new(ProviderErrorKind::Auth, error.to_string()));
            }
        }
    }
    Ok(SentCredential { header: None, secrets: Vec::new() })
}

fn sources(host: &Host) -> Vec<Arc<dyn Auth>> {
    let running = host.service(&HOST).ok().and_then(|handle| handle.get());
    running.map(|host| host.auth().into_iter().map(|source| source.item).collect()).unwrap_or_default()
}

fn sent(name: HeaderName, value: &str, secret: &str) -> Result<SentCredential, ProviderError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| unfit("the key"))?;
    value.set_sensitive(true);
    Ok(SentCredential { header: Some((name, value)), secrets: vec![secret.to_owned()] })
}

fn unfit(what: &str) -> ProviderError {
    let message = format!("{what} holds characters that cannot be sent; replace it with `dispatch auth add`");
    ProviderError::new(ProviderErrorKind::Auth, message)
}
