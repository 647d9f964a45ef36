//! Which provider and which model answer: what was asked for, what is configured, what is there.

use super::no_model;
use crate::fallback::ModelChoice;
use dispatch_contracts::provider::{Provider, ProviderError};
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::{ExtensionHost, Owned};
use std::sync::Arc;

/// The provider that answers when a server is configured.
const SERVER: &str = "openai-compat";
/// The provider that answers when nothing is.
const OFFLINE: &str = "rehearsal";

/// The models of the settings, in the order they are tried.
pub(super) fn configured(settings: &Settings) -> Vec<String> {
    let first: Option<String> = settings.read("model.model");
    let fallbacks: Vec<String> = settings.read("model.fallbacks").unwrap_or_default();
    first.into_iter().chain(fallbacks).collect()
}

/// The name of the provider for models that name none.
fn default_provider(settings: &Settings, known: &[Owned<Arc<dyn Provider>>]) -> Option<String> {
    let named: Option<String> = settings.read("model.provider");
    let has_server = settings.get("model.base_url").is_some();
    let fitting = if has_server { SERVER } else { OFFLINE };
    let there = |name: &str| known.iter().any(|provider| provider.name == name);
    named.or_else(|| there(fitting).then(|| fitting.to_owned())).or_else(|| Some(known.first()?.name.clone()))
}

/// The models to try. Without any name, the provider's first one.
pub(super) async fn choices(
    models: &[String],
    settings: &Settings,
    kernel: &ExtensionHost,
) -> Result<Vec<ModelChoice>, ProviderError> {
    let known = kernel.providers();
    let default = default_provider(settings, &known)
        .ok_or_else(|| no_model("no extension offers a model provider".to_owned()))?;
    let find = |name: &str| known.iter().find(|provider| provider.name == name).map(|it| Arc::clone(&it.item));
    let missing = |name: &str| {
        let names: Vec<&str> = known.iter().map(|provider| provider.name.as_str()).collect();
        no_model(format!("unknown model provider `{name}`; available: {}", names.join(", ")))
    };
    if models.is_empty() {
        let provider = find(&default).ok_or_else(|| missing(&default))?;
        let offered = provider.models().await?;
        let first = offered.into_iter().next().ok_or_else(|| {
            no_model(format!("`{default}` offers no model; name one with `[model] model = ...` or DISPATCH_MODEL"))
        })?;
        return Ok(vec![ModelChoice { provider, model: first.id }]);
    }
    let choice = |model: &String| {
        let (name, model) = match model.split_once('/') {
            Some((name, rest)) if find(name).is_some() => (name, rest),
            _ => (default.as_str(), model.as_str()),
        };
        let provider = find(name).ok_or_else(|| missing(name))?;
        Ok(ModelChoice { provider, model: model.to_owned() })
    };
    models.iter().map(choice).collect()
}
