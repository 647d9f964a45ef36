//! Where a model server is, read from the settings and checked once.

use dispatch_contracts::provider::{ProviderError, ProviderErrorKind};
use dispatch_http::ClientKind;
use reqwest::Url;
use serde_json::{Map, Value};

/// A server and how to speak with it.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    base: Url,
    /// Sent with every request.
    pub(crate) headers: Vec<(String, String)>,
    /// Put into every request for a reply.
    pub(crate) options: Map<String, Value>,
}

impl Endpoint {
    /// The endpoint that the section `model` of the settings describes; `None` without an address.
    pub(crate) fn read(model: &Value) -> Option<Result<Self, ProviderError>> {
        let address = model.get("base_url")?.as_str()?;
        let headers = model.get("headers").and_then(Value::as_object);
        let headers =
            headers.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Some(Self::at(address).map(|endpoint| Self {
            headers: headers.collect(),
            options: model.get("options").and_then(Value::as_object).cloned().unwrap_or_default(),
            ..endpoint
        }))
    }

    /// An endpoint with nothing but an address.
    pub(crate) fn at(address: &str) -> Result<Self, ProviderError> {
        let wrong = |why: &str| {
            let message = format!("model.base_url {why}; it looks like http://127.0.0.1:11434/v1");
            ProviderError::new(ProviderErrorKind::InvalidRequest, message)
        };
        let mut base = Url::parse(address.trim()).map_err(|error| wrong(&format!("is not a URL ({error})")))?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(wrong("must begin with http:// or https://"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(wrong("must not hold a user name or a password; `dispatch auth add` stores keys"));
        }
        base.set_fragment(None);
        let path = base.path().trim_end_matches('/');
        // The full address of the call is what people copy from documentation.
        let path = path.strip_suffix("/chat/completions").unwrap_or(path).to_owned();
        base.set_path(&path);
        Ok(Self { base, headers: Vec::new(), options: Map::new() })
    }

    /// The address of a call, for example `chat/completions`.
    pub(crate) fn url(&self, call: &str) -> Url {
        let mut url = self.base.clone();
        let path = format!("{}/{call}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url
    }

    /// Scheme, host and port: what a credential is bound to, and what messages name.
    pub(crate) fn origin(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// Which HTTP client the server needs.
    pub(crate) fn client_kind(&self) -> ClientKind {
        ClientKind::of(&self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_as_people_write_them() {
        for (address, chat, origin) in [
            ("http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions", "http://localhost:11434"),
            ("http://localhost:11434/v1/", "http://localhost:11434/v1/chat/completions", "http://localhost:11434"),
            (" https://API.example.com ", "https://api.example.com/chat/completions", "https://api.example.com"),
            ("https://a.example/v1/chat/completions", "https://a.example/v1/chat/completions", "https://a.example"),
            (
                "https://a.example/x?api-version=1#f",
                "https://a.example/x/chat/completions?api-version=1",
                "https://a.example",
            ),
            ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions", "http://[::1]:8080"),
        ] {
            let endpoint = Endpoint::at(address).unwrap();
            assert_eq!((endpoint.url("chat/completions").as_str(), endpoint.origin().as_str()), (chat, origin));
        }
    }

    #[test]
    fn an_invalid_address_is_reported_without_its_password() {
        for address in ["", "localhost:11434", "ftp://a", "file:///etc", "http://", "http://me:hunter2@a/v1"] {
            let error = Endpoint::at(address).unwrap_err();
            assert!(error.message.contains("model.base_url") && !error.message.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_settings_are_read() {
        let model = json!({ "base_url": "http://a/v1", "headers": { "X-A": "1" }, "options": { "top_k": 2 } });
        let endpoint = Endpoint::read(&model).unwrap().unwrap();
        assert_eq!(endpoint.headers, [("X-A".to_owned(), "1".to_owned())]);
        assert_eq!(endpoint.options["top_k"], 2);
        assert!(Endpoint::read(&json!({ "model": "m" })).is_none());
    }
}
