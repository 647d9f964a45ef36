//! Fills the workspace model from `cargo metadata`, `cargo tree` and the manifests on disk.

use super::{DependencyKind, ExtensionManifest, Import, KernelClosure, Layer, ManifestFacts, Member, Workspace};
use crate::cargo::{self, Dependency, Features, Kinds, Metadata};
use crate::layers::KERNEL_CLOSURE_FILE;
use crate::source::{self, SourceTree};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::path::Path;

const KERNEL_PACKAGES: &[&str] = &["dispatch-contracts", "dispatch-kernel"];

/// Loads the workspace at `root`.
pub(crate) fn load(root: &Path) -> Result<Workspace> {
    let metadata = cargo::metadata(root)?;
    let sources = source::load(root)?;
    Ok(Workspace {
        members: members(&metadata),
        manifests: manifests(&sources),
        kernel: kernel_closure(root, &metadata)?,
        sources,
    })
}

fn members(metadata: &Metadata) -> Vec<Member> {
    let root = &metadata.workspace_root;
    let mut members: Vec<_> = metadata
        .packages
        .iter()
        .filter(|package| metadata.workspace_members.contains(&package.id))
        .filter_map(|package| {
            Some(Member {
                name: package.name.clone(),
                folder: relative(root, package.manifest_path.parent()?),
                imports: package.dependencies.iter().filter_map(|it| import(root, it)).collect(),
            })
        })
        .collect();
    members.sort_by(|a, b| a.folder.cmp(&b.folder));
    members
}

fn import(root: &Path, dependency: &Dependency) -> Option<Import> {
    Some(Import {
        folder: relative(root, dependency.path.as_deref()?),
        kind: match dependency.kind.as_deref() {
            Some("dev") => DependencyKind::Dev,
            Some("build") => DependencyKind::Build,
            _ => DependencyKind::Normal,
        },
        rename: dependency.rename.clone(),
    })
}

// A path outside the root stays whole: no layer has it, so the edge check reports it.
fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn manifests(sources: &SourceTree) -> Vec<ExtensionManifest> {
    let folders = sources.files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("/manifest.json")?;
        let is_extension = matches!(Layer::of(folder), Some(Layer::Extension(_)));
        (is_extension && folder.matches('/').count() == 2).then_some((folder, &file.text))
    });
    folders.map(|(folder, text)| ExtensionManifest { folder: folder.to_owned(), facts: parse_manifest(text) }).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestWire {
    id: String,
    tier: String,
    #[serde(default)]
    depends_on: Vec<DependencyWire>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum DependencyWire {
    Id(String),
    Versioned { id: String },
}

fn parse_manifest(text: &str) -> Result<ManifestFacts, String> {
    let wire: ManifestWire = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let ids = wire.depends_on.into_iter().map(|entry| match entry {
        DependencyWire::Id(id) | DependencyWire::Versioned { id } => id,
    });
    Ok(ManifestFacts { depends_on: ids.collect(), id: wire.id, tier: wire.tier })
}

fn kernel_closure(root: &Path, metadata: &Metadata) -> Result<KernelClosure> {
    let default = cargo::closure(root, KERNEL_PACKAGES, Features::Default, Kinds::NormalAndBuild)?;
    let all_features = cargo::closure(root, KERNEL_PACKAGES, Features::All, Kinds::NormalAndBuild)?;
    let native = all_features
        .iter()
        .filter_map(|found| {
            let package = metadata
                .packages
                .iter()
                .find(|package| package.name == found.name && package.version == found.version)?;
            Some((found.clone(), package.links.clone()?))
        })
        .collect();
    let allow_list = std::fs::read_to_string(root.join(KERNEL_CLOSURE_FILE))
        .with_context(|| format!("cannot read {KERNEL_CLOSURE_FILE}"))?;
    Ok(KernelClosure { default, all_features, native, allow_list })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_dependencies_by_id_or_by_id_and_version() {
        let text = r#"{"id":"a","tier":"core","dependsOn":["b",{"id":"c","version":"^1"}],"more":1}"#;
        let facts = parse_manifest(text).unwrap();
        assert_eq!(facts.depends_on, ["b", "c"]);
        assert!(parse_manifest(r#"{"id":"a","tier":"core"}"#).unwrap().depends_on.is_empty());
        assert!(parse_manifest("{").is_err());
        assert!(parse_manifest(r#"{"id":"a","tier":"core","dependsOn":[1]}"#).is_err());
    }
}
