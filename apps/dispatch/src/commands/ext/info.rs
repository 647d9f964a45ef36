//! `dispatch ext info`: what one extension is, needs, adds and knows about itself, and how it is doing.

use super::list::absent_word;
use super::{state_words, status, tier_word};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::harness::Harness;
use dispatch_contracts::manifest::{Capability, Contributes, Dependency, Manifest};
use dispatch_contracts::suggest::nearest;
use dispatch_kernel::host::{ExtensionStatus, manifest};
use dispatch_script_extension::FoundExtension;
use serde_json::{Value, json};
use std::sync::Arc;

/// The state of an extension that `--minimal` or the setting `extensions.disabled` leaves out.
const LEFT_OUT: (&str, &str) = ("off", "left out by `--minimal` or the setting `extensions.disabled`");

pub(super) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    id: &str,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let parsed = |extension: &Arc<dyn Extension>| {
        manifest::parse(&extension.manifest()).ok().map(|manifest| (manifest, extension.harness()))
    };
    let mut known: Vec<(Manifest, Harness)> = extensions.iter().filter_map(parsed).collect();
    let absent = loaded.externals.found.iter().find(|found| found.id == id && found.extension().is_none());
    let described = known.iter().any(|(manifest, _)| manifest.id.as_str() == id);
    if let Some(found) = absent.filter(|_| !described) {
        let Some(manifest) = &found.manifest else {
            return Err(Failure::configuration(found.reason().unwrap_or_default())
                .hint("the fields of a manifest are in `dispatch schema extension-manifest`"));
        };
        known.push((manifest.clone(), Harness::EMPTY));
    }
    let Some((manifest, harness)) = known.iter().find(|(manifest, _)| manifest.id.as_str() == id) else {
        return Err(unknown(id, known.iter().map(|(manifest, _)| manifest.id.as_str())));
    };
    let status = status(loaded, extensions)?.into_iter().find(|status| status.id == manifest.id);
    let reason = absent.and_then(FoundExtension::reason).unwrap_or_default();
    let state = match (&status, absent) {
        (Some(status), _) => state_words(&status.state),
        (None, Some(found)) => (absent_word(&found.state).unwrap_or_default(), reason.as_str()),
        (None, None) => LEFT_OUT,
    };
    match format {
        Format::Json => printer.json(&info_json(manifest, harness, state, status.as_ref()))?,
        Format::Text => printer.out(&info_text(manifest, harness, state, status.as_ref())),
    }
    Ok(Status::Done)
}

pub(super) fn unknown<'a>(id: &str, known: impl Iterator<Item = &'a str> + Clone) -> Failure {
    let failure = Failure::usage(format!("unknown extension `{id}`"));
    match nearest(id, known) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint("`dispatch ext list` lists the extensions"),
    }
}

/// The manifest's own fields, with the state and the harness beside them.
fn info_json(
    manifest: &Manifest,
    harness: &Harness,
    (state, reason): (&str, &str),
    status: Option<&ExtensionStatus>,
) -> Value {
    let mut value = serde_json::to_value(manifest).unwrap_or_default();
    value["state"] = state.into();
    value["reason"] = if reason.is_empty() { Value::Null } else { reason.into() };
    value["granted"] = json!(status.map(|status| &status.granted));
    value["faults"] = status.map_or(0, |status| status.faults).into();
    value["lastFault"] = json!(status.and_then(|status| status.last_fault.as_ref()));
    value["harness"] = json!({
        "agents": harness.agents,
        "rules": harness.rules,
        "feature": harness.feature,
        "glossary": harness.glossary,
    });
    value
}

fn info_text(
    manifest: &Manifest,
    harness: &Harness,
    (state, reason): (&str, &str),
    status: Option<&ExtensionStatus>,
) -> String {
    let state = if reason.is_empty() { state.to_owned() } else { format!("{state}: {reason}") };
    let mut rows = vec![
        ("id", manifest.id.to_string()),
        ("name", manifest.name.clone()),
        ("version", manifest.version.to_string()),
        ("tier", tier_word(manifest.tier).to_owned()),
        ("state", state),
        ("depends on", listed(manifest.depends_on.iter().map(dependency))),
        ("capabilities", listed(manifest.capabilities.iter().map(|it| Capability::name(*it).to_owned()))),
    ];
    if !manifest.program.is_empty() {
        rows.push(("program", manifest.program.join(" ")));
    }
    rows.extend(contributed(&manifest.contributes));
    rows.push(("faults", faults(status)));
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    let mut text = format!("{}\n\n{}", manifest.description, table(&rows));
    for (name, content) in [
        ("docs/feature.md", &harness.feature),
        ("docs/rules.md", &harness.rules),
        ("docs/glossary.md", &harness.glossary),
        ("AGENTS.md", &harness.agents),
    ] {
        if !content.is_empty() {
            text.push_str(&format!("\n\n--- {name}\n\n{}", content.trim()));
        }
    }
    text
}

fn dependency(dependency: &Dependency) -> String {
    if dependency.optional { format!("{} (optional)", dependency.id) } else { dependency.id.to_string() }
}

/// One row for each kind of thing that it adds.
fn contributed(contributes: &Contributes) -> Vec<(&'static str, String)> {
    let Contributes { tools, providers, auth, hooks, services, routes, commands, jobs, migrations } = contributes;
    let migrations = &migrations.iter().map(|step| step.name.clone()).collect();
    let kinds = [
        ("tools", tools),
        ("providers", providers),
        ("auth", auth),
        ("hooks", hooks),
        ("services", services),
        ("routes", routes),
        ("commands", commands),
        ("jobs", jobs),
        ("migrations", migrations),
    ];
    let present = kinds.into_iter().filter(|(_, names)| !names.is_empty());
    present.map(|(kind, names)| (kind, names.join(", "))).collect()
}

fn faults(status: Option<&ExtensionStatus>) -> String {
    let count = status.map_or(0, |status| status.faults);
    match status.and_then(|status| status.last_fault.as_ref()) {
        Some(last) => format!("{count}, the last: {}", last.message),
        None => count.to_string(),
    }
}

fn listed(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
