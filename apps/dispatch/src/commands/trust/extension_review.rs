//! What an approval of an extension means: what it adds, what it asks for, and what it replaces.

use crate::commands::ext::surface::added;
use dispatch_contracts::manifest::{Capability, Manifest};
use dispatch_script_extension::{Discovered, FoundState};
use std::path::Path;

/// Lines for below the one that says what was approved; `None` if the path is no extension.
pub(super) fn text(externals: &Discovered, path: &Path) -> Option<String> {
    let found = externals.found.iter().find(|found| found.path == path)?;
    let Some(manifest) = &found.manifest else {
        let FoundState::Broken(reason) = &found.state else { return None };
        return Some(format!("\n  it cannot run: {reason}"));
    };
    Some(review(manifest))
}

/// What a manifest means for whoever approves it.
pub(crate) fn review(manifest: &Manifest) -> String {
    let mut text = line("adds", added(&manifest.contributes));
    text += &line("asks for", manifest.capabilities.iter().map(|it| Capability::name(*it).to_owned()).collect());
    if !manifest.program.is_empty() {
        text += &line("runs", vec![format!("`{}`, a program with your rights", manifest.program.join(" "))]);
        text += "\n  what it was granted limits what it asks of Dispatch, not what it does by itself";
    }
    if !manifest.capabilities.is_empty() {
        text += &format!("\n  it gets what `[grants.{}]` in dispatch.toml lists under `capabilities`", manifest.id);
    }
    let is_bundled = |id: &str| crate::compose::bundled_ids().iter().any(|bundled| bundled == id);
    if is_bundled(manifest.id.as_str()) {
        text += &format!("\n  it REPLACES the extension `{}` that ships with the program", manifest.id);
    }
    text
}

fn line(what: &str, names: Vec<String>) -> String {
    let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    format!("\n  {what}: {names}")
}
