//! Whether a model that a person names at the prompt exists, as far as its provider says which there are.

use crate::failure::Failure;
use crate::plain::one_line;
use dispatch_kernel::host::ExtensionHost;
use futures_util::future::join_all;
use std::time::Duration;

/// How long a provider may take to list its models.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
/// How many models a refusal names.
const NAMED_MODELS: usize = 8;
/// What is shown of a name.
const NAME_CHARS: usize = 60;

/// Refuses a name that no provider knows; where the one that answers does not list its models, every name is taken.
pub(super) async fn check(host: &ExtensionHost, chosen: &str, name: &str) -> Result<(), Failure> {
    let providers = host.providers();
    let listed = join_all(providers.iter().map(|provider| async {
        let found = tokio::time::timeout(LIST_TIMEOUT, provider.item.models()).await;
        let models = found.ok().and_then(Result::ok).unwrap_or_default();
        models.into_iter().map(|model| (provider.name.clone(), model.id)).collect::<Vec<_>>()
    }));
    let known: Vec<(String, String)> = listed.await.into_iter().flatten().collect();
    let is_meant = |(provider, model): &(String, String)| model == name || format!("{provider}/{model}") == name;
    let is_listed = known.iter().any(|(provider, _)| provider == chosen);
    if !is_listed || known.iter().any(is_meant) {
        return Ok(());
    }
    let named: Vec<String> = known.iter().take(NAMED_MODELS).map(|(_, model)| one_line(model, NAME_CHARS)).collect();
    let more = known.len().saturating_sub(NAMED_MODELS);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(Failure::usage(format!("unknown model `{}`", one_line(name, NAME_CHARS)))
        .hint(format!("there are {}{rest}", named.join(", "))))
}
