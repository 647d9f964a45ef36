//! Which extensions a command needs, read from their manifests.
//!
//! Pure.

use dispatch_contracts::extension::Extension;
use dispatch_contracts::host::STORAGE;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Capability, Manifest};
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::manifest::parse;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The settings that every extension may ask for by naming them in its settings schema.
const SHARED_SETTINGS: [&str; 4] = ["redact", "compaction", "route", "channels"];

/// The extensions that provide these services, with what they cannot do without: storage if they keep data, and
/// what they depend on unless it is optional.
pub(crate) fn providers_of(services: &[&str], manifests: &[Manifest]) -> BTreeSet<ExtensionId> {
    let mut chosen = BTreeSet::new();
    let mut wanted: Vec<&Manifest> =
        manifests.iter().filter(|it| services.iter().any(|service| provides(it, service))).collect();
    while let Some(manifest) = wanted.pop() {
        if !chosen.insert(manifest.id.clone()) {
            continue;
        }
        if manifest.capabilities.contains(&Capability::Db) {
            wanted.extend(manifests.iter().filter(|it| provides(it, STORAGE.id())));
        }
        let required = manifest.depends_on.iter().filter(|dependency| !dependency.optional);
        wanted.extend(required.filter_map(|dependency| manifests.iter().find(|it| it.id == dependency.id)));
    }
    chosen
}

/// The settings schema of each extension that has one. A manifest that cannot be read is reported when it is started.
pub(crate) fn settings_schemas(extensions: &[Arc<dyn Extension>]) -> BTreeMap<ExtensionId, Value> {
    let manifests = extensions.iter().filter_map(|extension| parse(&extension.manifest()).ok());
    manifests.filter_map(|manifest| Some((manifest.id, manifest.settings_schema?))).collect()
}

fn provides(manifest: &Manifest, service: &str) -> bool {
    manifest.contributes.services.iter().any(|provided| provided == service)
}

/// Hands shared settings to the extensions whose settings schema names them, since each sees its own section alone.
pub(crate) fn with_shared_settings(settings: Settings, manifests: &[Manifest]) -> Settings {
    let mut all = settings;
    for manifest in manifests {
        for shared in SHARED_SETTINGS.into_iter().filter(|shared| names_setting(manifest, shared)) {
            let values: Vec<(String, Value)> = all
                .iter()
                .filter_map(|(name, setting)| {
                    let below = name.strip_prefix(shared)?.strip_prefix('.')?;
                    Some((format!("extensions.{}.{shared}.{below}", manifest.id), setting.value.clone()))
                })
                .collect();
            all = values.into_iter().fold(all, |all, (name, value)| all.with(&name, value));
        }
    }
    all
}

fn names_setting(manifest: &Manifest, name: &str) -> bool {
    manifest.settings_schema.as_ref().is_some_and(|schema| schema["properties"].get(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compose::bundled;
    use ext_conversation_store::contract::CONVERSATIONS;
    use ext_session_orchestrator::contract::SESSIONS;
    use ext_workspace_hooks::contract::RUNS;

    fn manifests() -> Vec<Manifest> {
        bundled().iter().map(|extension| parse(&extension.manifest()).unwrap()).collect()
    }

    #[test]
    fn what_reads_conversations_and_runs_answers_no_prompt() {
        let chosen = |services: &[&str]| -> Vec<String> {
            providers_of(services, &manifests()).iter().map(ToString::to_string).collect()
        };
        let conversations = chosen(&[CONVERSATIONS.id(), SESSIONS.id()]);
        assert_eq!(conversations, ["conversation-store", "session-orchestrator", "storage-postgres", "storage-sqlite"]);
        assert_eq!(chosen(&[RUNS.id()]), ["storage-postgres", "storage-sqlite", "workspace-hooks"]);
        assert!(chosen(&["nobody/provides"]).is_empty());
    }

    #[test]
    fn the_users_secret_patterns_reach_the_extensions_that_ask_for_them() {
        let settings = Settings::default().with("redact.patterns", serde_json::json!(["ACME-[0-9]+"]));
        let shared = with_shared_settings(settings, &manifests());
        assert!(shared.get("extensions.workspace-hooks.redact.patterns").is_some());
        assert!(shared.get("extensions.tool-todo.redact.patterns").is_none());
    }
}
