//! What a bundled extension's manifest must say for the layer rules to hold at run time too.

use crate::checks::Check;
use crate::violation::Violation;
use crate::workspace::{Layer, ManifestFacts, Tier, Workspace, id_of};
use std::collections::BTreeMap;

pub(crate) const CHECK: Check<Workspace> = Check {
    name: "manifests",
    rule: "Every bundled extension has a manifest.json whose `id` is its folder and whose `tier` is its tier folder; `dependsOn` names bundled extensions, never from core up to standard and never in a circle.",
    why: "The host activates in the order that the manifests give, and `--minimal` starts the core tier alone.",
    run: check,
};

fn violation(folder: &str, message: impl Into<String>, hint: impl Into<String>) -> Violation {
    Violation::new(CHECK.name, format!("{folder}/manifest.json"), message, hint)
}

fn check(workspace: &Workspace) -> Vec<Violation> {
    let mut found: Vec<_> = missing(workspace).collect();
    let mut tiers = BTreeMap::new();
    for manifest in &workspace.manifests {
        if let Some(Layer::Extension(tier)) = Layer::of(&manifest.folder) {
            tiers.insert(id_of(&manifest.folder), tier);
        }
    }
    for manifest in &workspace.manifests {
        match &manifest.facts {
            Ok(facts) => found.extend(check_one(&manifest.folder, facts, &tiers)),
            Err(error) => found.push(violation(
                &manifest.folder,
                format!("cannot be read: {error}"),
                "give it `id`, `tier` and, if needed, `dependsOn`",
            )),
        }
    }
    found.extend(circles(workspace));
    found
}

fn missing(workspace: &Workspace) -> impl Iterator<Item = Violation> {
    workspace.members.iter().filter_map(|member| {
        let is_extension = matches!(Layer::of(&member.folder), Some(Layer::Extension(_)));
        let has = workspace.manifests.iter().any(|manifest| manifest.folder == member.folder);
        (is_extension && !has).then(|| {
            violation(
                &member.folder,
                "is missing: an extension has a manifest",
                "add one with `id`, `tier` and `dependsOn`",
            )
        })
    })
}

fn check_one(folder: &str, facts: &ManifestFacts, tiers: &BTreeMap<&str, Tier>) -> Vec<Violation> {
    let mut found = Vec::new();
    let id = id_of(folder);
    let tier = tiers.get(id).copied();
    if facts.id != id {
        let message = format!("has the id `{}`, but the folder is `{id}`", facts.id);
        found.push(violation(folder, message, "the folder is the id: change one of them"));
    }
    if tier.is_some_and(|tier| tier.to_string() != facts.tier) {
        let message = format!("has the tier `{}`, but lies in another tier's folder", facts.tier);
        found.push(violation(folder, message, "change the tier or move the folder"));
    }
    for named in &facts.depends_on {
        match (tier, tiers.get(named.as_str())) {
            (_, None) => found.push(violation(
                folder,
                format!("depends on `{named}`, which is not a bundled extension"),
                "correct the id, or remove the entry",
            )),
            (Some(Tier::Core), Some(Tier::Standard)) => found.push(violation(
                folder,
                format!("depends on `{named}`: a core extension never depends on a standard one"),
                "let the core extension own a hook or a service that the standard one fills",
            )),
            _ => {}
        }
    }
    found
}

fn circles(workspace: &Workspace) -> Vec<Violation> {
    let edges: BTreeMap<&str, &ManifestFacts> = workspace
        .manifests
        .iter()
        .filter_map(|manifest| Some((id_of(&manifest.folder), manifest.facts.as_ref().ok()?)))
        .collect();
    let in_circle = |start: &str| {
        let mut seen: Vec<&str> = Vec::new();
        let mut next = vec![start];
        while let Some(id) = next.pop() {
            for named in edges.get(id).into_iter().flat_map(|facts| &facts.depends_on) {
                if named == start {
                    return true;
                }
                if !seen.contains(&named.as_str()) {
                    seen.push(named);
                    next.push(named);
                }
            }
        }
        false
    };
    workspace
        .manifests
        .iter()
        .filter(|manifest| in_circle(id_of(&manifest.folder)))
        .map(|manifest| {
            violation(
                &manifest.folder,
                "depends on itself, directly or through others",
                "break the circle: let one side own a hook that the other handles",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{ExtensionManifest, Member};

    fn manifest(folder: &str, id: &str, tier: &str, depends_on: &[&str]) -> ExtensionManifest {
        ExtensionManifest {
            folder: folder.to_owned(),
            facts: Ok(ManifestFacts {
                id: id.to_owned(),
                tier: tier.to_owned(),
                depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
            }),
        }
    }

    fn messages(manifests: Vec<ExtensionManifest>) -> String {
        let workspace = Workspace { manifests, ..Workspace::default() };
        check(&workspace).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    const STORE: &str = "extensions/core/store";
    const BROKER: &str = "extensions/standard/broker";

    #[test]
    fn sound_manifests_pass() {
        let sound = vec![manifest(STORE, "store", "core", &[]), manifest(BROKER, "broker", "standard", &["store"])];
        assert_eq!(messages(sound), "");
    }

    #[test]
    fn planted_faults_are_reported() {
        let table = [
            (vec![manifest(STORE, "stores", "core", &[])], "the folder is `store`"),
            (vec![manifest(STORE, "store", "standard", &[])], "another tier's folder"),
            (vec![manifest(STORE, "store", "core", &["gone"])], "not a bundled extension"),
            (
                vec![manifest(STORE, "store", "core", &["broker"]), manifest(BROKER, "broker", "standard", &[])],
                "never depends on a standard one",
            ),
            (vec![manifest(STORE, "store", "core", &["store"])], "depends on itself"),
            (
                vec![
                    manifest(STORE, "store", "core", &["auth"]),
                    manifest("extensions/core/auth", "auth", "core", &["store"]),
                ],
                "depends on itself",
            ),
        ];
        for (manifests, expected) in table {
            let text = messages(manifests);
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }

    #[test]
    fn a_broken_or_missing_manifest_is_reported() {
        let workspace = Workspace {
            members: vec![Member { name: "ext-broker".to_owned(), folder: BROKER.to_owned(), imports: Vec::new() }],
            manifests: vec![ExtensionManifest { folder: STORE.to_owned(), facts: Err("expected value".to_owned()) }],
            ..Workspace::default()
        };
        let found = check(&workspace);
        assert_eq!(found.len(), 2);
        assert!(found.iter().any(|it| it.place.starts_with(BROKER) && it.message.contains("missing")));
        assert!(found.iter().any(|it| it.place.starts_with(STORE) && it.message.contains("expected value")));
    }
}
