//! Decides which provider answers, from the settings and the servers that were found.
//!
//! Pure.

use crate::local_server::{LocalServer, OPENAI_COMPAT, REHEARSAL};
use dispatch_contracts::settings::Settings;
use serde::Serialize;

/// Which provider answers, and with what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderChoice {
    /// The provider's name.
    pub provider: String,
    /// Where it is reached, as far as that is known here.
    pub base_url: Option<String>,
    /// The model to ask for; `None` leaves it to the provider.
    pub model: Option<String>,
    /// Why, for people.
    pub reason: String,
}

/// The provider for these settings. `discovered` counts only where the settings name no server, so
/// looking can be left out when [`needs_discovery`] says so.
pub fn choose_provider(settings: &Settings, discovered: &[LocalServer]) -> ProviderChoice {
    let read = |name: &str| settings.read::<String>(name).filter(|text| !text.trim().is_empty());
    let (provider, base_url, model) = (read("model.provider"), read("model.base_url"), read("model.model"));
    if let Some(provider) = provider.filter(|provider| provider != OPENAI_COMPAT || base_url.is_some()) {
        return ProviderChoice { reason: "model.provider names it".to_owned(), provider, base_url, model };
    }
    if base_url.is_some() {
        let reason = "model.base_url is set".to_owned();
        return ProviderChoice { provider: OPENAI_COMPAT.to_owned(), base_url, model, reason };
    }
    if let Some(server) = discovered.iter().find(|server| !server.models.is_empty() || model.is_some()) {
        let first = server.models.first().map(|model| model.id.clone());
        return ProviderChoice {
            provider: OPENAI_COMPAT.to_owned(),
            base_url: Some(server.base_url.clone()),
            model: model.or(first),
            reason: format!("{} was found at {}", server.name, server.base_url),
        };
    }
    if read("model.provider").is_some() {
        let reason = "model.provider names it, but model.base_url is not set and no local server was found".to_owned();
        return ProviderChoice { provider: OPENAI_COMPAT.to_owned(), base_url: None, model, reason };
    }
    let reason = "no model is configured and no local server was found".to_owned();
    ProviderChoice { provider: REHEARSAL.to_owned(), base_url: None, model: None, reason }
}

/// Whether it matters what runs on this machine.
pub fn needs_discovery(settings: &Settings) -> bool {
    let provider = settings.read::<String>("model.provider");
    settings.get("model.base_url").is_none() && provider.is_none_or(|provider| provider == OPENAI_COMPAT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::provider::ModelInfo;
    use dispatch_contracts::settings::{Origin, Setting};

    fn settings(values: &[(&str, &str)]) -> Settings {
        let setting = |(name, value): &(&str, &str)| {
            ((*name).to_owned(), Setting { value: (*value).into(), origin: Origin::BuiltIn })
        };
        Settings::new(values.iter().map(setting).collect())
    }

    fn server(models: &[&str]) -> LocalServer {
        let models = models.iter().map(|id| ModelInfo { id: (*id).to_owned(), context_tokens: None }).collect();
        LocalServer { name: "Ollama".to_owned(), base_url: "http://127.0.0.1:11434/v1".to_owned(), models }
    }

    #[test]
    fn settings_first_then_what_runs_then_the_rehearsal() {
        let (provider, url, model) = ("model.provider", "model.base_url", "model.model");
        let local = Some("http://127.0.0.1:11434/v1");
        for (set, found, expected) in [
            (vec![], vec![], (REHEARSAL, None, None)),
            (vec![], vec![server(&["q"])], (OPENAI_COMPAT, local, Some("q"))),
            (vec![], vec![server(&[])], (REHEARSAL, None, None)),
            (vec![(model, "m")], vec![server(&["q"])], (OPENAI_COMPAT, local, Some("m"))),
            (vec![(model, "m")], vec![], (REHEARSAL, None, None)),
            (vec![(url, "http://a")], vec![server(&["q"])], (OPENAI_COMPAT, Some("http://a"), None)),
            (vec![(provider, "rehearsal"), (url, "http://a")], vec![], (REHEARSAL, Some("http://a"), None)),
            (vec![(provider, "openai-compat")], vec![server(&["q"])], (OPENAI_COMPAT, local, Some("q"))),
            (vec![(provider, "openai-compat")], vec![], (OPENAI_COMPAT, None, None)),
            (vec![(provider, "other"), (model, "m")], vec![server(&["q"])], ("other", None, Some("m"))),
        ] {
            let choice = choose_provider(&settings(&set), &found);
            let seen = (choice.provider.as_str(), choice.base_url.as_deref(), choice.model.as_deref());
            assert_eq!(seen, expected, "{set:?}");
        }
    }

    #[test]
    fn looking_is_left_out_where_it_cannot_matter() {
        assert!(needs_discovery(&settings(&[])));
        assert!(needs_discovery(&settings(&[("model.provider", "openai-compat")])));
        assert!(!needs_discovery(&settings(&[("model.provider", "rehearsal")])));
        assert!(!needs_discovery(&settings(&[("model.base_url", "http://a")])));
    }
}
