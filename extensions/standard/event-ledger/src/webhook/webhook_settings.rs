//! The webhooks that the settings name.
//!
//! Pure.

use super::signature::SignatureScheme;
use dispatch_contracts::secret::Secret;
use dispatch_contracts::settings::Settings;
use std::collections::BTreeMap;

/// The channel's name.
pub(crate) const CHANNEL: &str = "webhook";
/// How old a signed time may be, if the settings do not say.
const DEFAULT_TOLERANCE_S: u64 = 300;

/// One webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookSettings {
    /// Its name, which is the account of its events.
    pub(crate) name: String,
    /// How its senders sign.
    pub(crate) scheme: SignatureScheme,
    /// Where its secrets are.
    pub(crate) secrets: Vec<SecretSource>,
    /// The header of a plain HMAC, in lower case, if the settings name one.
    pub(crate) header: Option<String>,
    /// How far a signed time may be from ours, and for how long the same bytes are the same event.
    pub(crate) tolerance_s: u64,
    /// Where replies are posted.
    pub(crate) reply_url: Option<String>,
}

/// Where a secret is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecretSource {
    /// In the settings.
    Literal(Secret),
    /// In an environment variable.
    Variable(String),
    /// In a file.
    File(String),
}

impl SecretSource {
    fn parse(text: &str) -> Self {
        if let Some(name) = text.strip_prefix("env:") {
            return Self::Variable(name.to_owned());
        }
        match text.strip_prefix("file:") {
            Some(path) => Self::File(path.to_owned()),
            None => Self::Literal(Secret::new(text)),
        }
    }
}

/// The webhooks of the section `route`, by name. One without a known signature is left out: the settings were checked.
pub(crate) fn configured_webhooks(settings: &Settings) -> BTreeMap<String, WebhookSettings> {
    let section = settings.section("route.webhooks");
    let names: Vec<String> =
        section.iter().filter_map(|(key, _)| Some(key.strip_suffix(".signature")?.to_owned())).collect();
    names.into_iter().filter_map(|name| Some((name.clone(), webhook(&section, name)?))).collect()
}

fn webhook(section: &Settings, name: String) -> Option<WebhookSettings> {
    let own = section.section(&name);
    let scheme = SignatureScheme::of_word(&own.read::<String>("signature")?)?;
    let secrets: Vec<String> = own.read("secrets").unwrap_or_default();
    Some(WebhookSettings {
        scheme,
        secrets: secrets.iter().map(|text| SecretSource::parse(text)).collect(),
        header: own.read::<String>("header").map(|header| header.to_ascii_lowercase()),
        tolerance_s: own.read("tolerance_s").unwrap_or(DEFAULT_TOLERANCE_S),
        reply_url: own.read("reply_url"),
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn webhooks_are_read_with_their_defaults_and_show_no_secret() {
        let settings = Settings::default()
            .with("route.webhooks.ci.signature", "standard")
            .with("route.webhooks.ci.secrets", json!(["whsec_Y2FuYXJ5", "env:OLD", "file:/run/x"]))
            .with("route.webhooks.plain.signature", "hmac")
            .with("route.webhooks.plain.header", "X-My-Mac")
            .with("route.webhooks.odd.signature", "rot13");
        let found = configured_webhooks(&settings);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["ci", "plain"]);
        let ci = &found["ci"];
        assert_eq!((ci.scheme, ci.tolerance_s, ci.secrets.len()), (SignatureScheme::Standard, 300, 3));
        assert_eq!(ci.secrets[1], SecretSource::Variable("OLD".to_owned()));
        assert_eq!(found["plain"].header.as_deref(), Some("x-my-mac"));
        assert!(!format!("{found:?}").contains("Y2FuYXJ5"));
    }
}
