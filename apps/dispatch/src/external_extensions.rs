//! The extensions from outside this program among those that ship with it: which replace which, and what they may use.

use crate::compose;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Capability, Manifest, Tier};
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::manifest::parse;
use dispatch_kernel::host::{Candidate, FreshCopy};
use dispatch_script_extension::{Discovered, FoundState, ScriptExtension, SearchFolders, discover};
use dispatch_trust::Trust;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Looks for extensions from outside. What cannot be read of the approvals approves nothing.
pub(crate) fn find(folders: &SearchFolders, trust_file: &Path, core: &[ExtensionId]) -> Discovered {
    discover(folders, &Trust::load(trust_file), core)
}

/// The ids of the core, which nothing from outside may have.
pub(crate) fn core_ids(extensions: &[Arc<dyn Extension>]) -> Vec<ExtensionId> {
    let manifests = extensions.iter().filter_map(|extension| parse(&extension.manifest()).ok());
    manifests.filter(|manifest| manifest.tier == Tier::Core).map(|manifest| manifest.id).collect()
}

/// Adds the settings schemas of what was found and runs.
pub(crate) fn add_schemas(schemas: &mut BTreeMap<ExtensionId, Value>, externals: &Discovered) {
    for manifest in externals.all_running().filter_map(|found| found.manifest.as_ref()) {
        schemas.remove(&manifest.id);
        schemas.extend(manifest.settings_schema.clone().map(|schema| (manifest.id.clone(), schema)));
    }
}

/// All extensions: those of the program without the ones that are replaced, then those from outside. The second list
/// are the replaced ones.
pub(crate) fn joined(own: Vec<Arc<dyn Extension>>, externals: &Discovered) -> (Vec<Arc<dyn Extension>>, Vec<Manifest>) {
    let (mut all, mut replaced) = (Vec::new(), Vec::new());
    for extension in own {
        match parse(&extension.manifest()).ok().filter(|manifest| externals.running(&manifest.id).is_some()) {
            Some(manifest) => replaced.push(manifest),
            None => all.push(extension),
        }
    }
    let outside = externals.all_running().filter_map(|found| found.extension());
    all.extend(outside.map(|extension| Arc::clone(extension) as Arc<dyn Extension>));
    (all, replaced)
}

/// An extension with where it came from, which the kernel does not believe from its manifest.
pub(crate) fn candidate(loaded: &Loaded, extension: Arc<dyn Extension>) -> Candidate {
    let manifest = parse(&extension.manifest()).ok();
    let found = manifest.as_ref().and_then(|manifest| loaded.externals.running(&manifest.id));
    match (found, manifest) {
        (Some(found), _) => Candidate {
            extension,
            trust: found.place.origin(),
            origin: found.path.display().to_string(),
            fresh: found.extension().map(fresh_copies),
        },
        (None, Some(manifest)) => {
            Candidate { fresh: Some(bundled_copies(manifest.id)), ..Candidate::bundled(extension) }
        }
        (None, None) => Candidate::bundled(extension),
    }
}

fn fresh_copies(extension: &Arc<ScriptExtension>) -> FreshCopy {
    let extension = Arc::clone(extension);
    Arc::new(move || extension.fresh().ok().map(|copy| Arc::new(copy) as Arc<dyn Extension>))
}

/// One that whoever builds their own program adds has no copy.
fn bundled_copies(id: ExtensionId) -> FreshCopy {
    Arc::new(move || {
        let mut all = compose::bundled().into_iter();
        all.find(|extension| parse(&extension.manifest()).is_ok_and(|manifest| manifest.id == id))
    })
}

/// What was found, with what ran before where nothing changed, and where what is there now may not or cannot run; the
/// second list says why. The one that is `forced` is loaded again in any case.
pub(crate) fn carried_over(
    mut found: Discovered,
    before: &Discovered,
    forced: Option<&str>,
) -> (Discovered, Vec<String>) {
    let mut kept = Vec::new();
    for extension in &mut found.found {
        let known = before.found.iter().find(|known| known.path == extension.path);
        let Some((known, FoundState::Approved(old))) = known.map(|known| (known, &known.state)) else { continue };
        let is_forced = forced == Some(extension.id.as_str());
        match &extension.state {
            FoundState::Approved(new) if new.has_files_of(old) && !is_forced => *extension = known.clone(),
            FoundState::Changed | FoundState::Broken(_) => {
                let reason = extension.reason().unwrap_or_default();
                kept.push(format!("extension `{}` runs on as it was: {reason}", known.id));
                *extension = known.clone();
            }
            _ => {}
        }
    }
    (found, kept)
}

/// What the user grants, from the settings `grants.ID.capabilities`.
pub(crate) fn grants(settings: &Settings) -> BTreeMap<ExtensionId, BTreeSet<Capability>> {
    let granted = |(name, setting): (&str, &dispatch_contracts::settings::Setting)| {
        let id = name.strip_prefix("grants.")?.strip_suffix(".capabilities")?;
        let capabilities = serde_json::from_value(setting.value.clone()).ok()?;
        Some((ExtensionId::new(id), capabilities))
    };
    settings.iter().filter_map(granted).collect()
}

/// What is there and does not run, as warnings for whoever starts the program.
pub(crate) fn absent(loaded: &Loaded) -> Vec<String> {
    if loaded.minimal {
        return Vec::new();
    }
    let off: Vec<String> = loaded.settings.read("extensions.disabled").unwrap_or_default();
    let missing = loaded.externals.found.iter().filter(|found| !off.contains(&found.id));
    missing
        .filter(|found| !matches!(found.state, FoundState::Shadowed(_)))
        .filter_map(|found| Some(format!("extension `{}` does not run: {}", found.id, found.reason()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn grants_are_read_by_extension() {
        let settings = Settings::default()
            .with("grants.hello.capabilities", json!(["fs", "db"]))
            .with("grants.other.capabilities", json!([]));
        let granted = grants(&settings);
        assert_eq!(granted[&ExtensionId::new("hello")], [Capability::Fs, Capability::Db].into());
        assert_eq!(granted[&ExtensionId::new("other")], BTreeSet::new());
        assert_eq!(granted.len(), 2);
    }
}
