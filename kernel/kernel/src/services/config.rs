//! Merges the layers of settings and says who set what.
//!
//! Layers, weakest first: built-in, the user's file, the project's file, environment variables,
//! flags. Tables are merged key by key; a list or any other value replaces what a weaker layer
//! set, whole. `null`, which only a variable or a flag can say, takes a setting away, the built-in
//! value included. An empty table is a value of its own, so that [`tree`] gives back what was
//! merged. A whole number written as `3.0` becomes `3`.
//!
//! What is checked is the merged tree: a wrong value that a stronger layer replaced does no harm.
//! The section `extensions.<id>` is checked against that extension's own schema when it is present
//! and the extension is not listed in `extensions.disabled`.

mod assign;
mod layer;
mod node;
mod problem;
mod respell;

#[cfg(test)]
mod tests;

pub use assign::{from_environment, from_flag};
pub use layer::{Layer, MAX_NESTING};
pub use problem::ConfigProblem;

use super::dotted::{PathStep, keys};
use super::schema::{Finding, findings, is_deeper_than};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::settings::{Origin, Settings};
use node::SettingsNode;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The section that holds one table per extension.
pub(super) const EXTENSIONS: &str = "extensions";
/// The list, in that section, of extensions that are switched off. No extension has this id.
pub(super) const DISABLED: &str = "disabled";

/// Merges the layers and checks the result; every problem is reported, not only the first.
///
/// Layers may come in any order; of two of the same kind the later wins. `extensions` holds the
/// settings schema of each extension that has one.
pub fn merge(
    layers: &[Layer],
    schema: &Value,
    extensions: &BTreeMap<ExtensionId, Value>,
) -> Result<Settings, Vec<ConfigProblem>> {
    let mut ordered: Vec<&Layer> = layers.iter().collect();
    ordered.sort_by_key(|layer| layer.strength());
    let mut root = SettingsNode::table(Origin::BuiltIn);
    let mut problems = Vec::new();
    for layer in ordered {
        match table_of(layer) {
            Ok(values) if matches!(layer.origin, Origin::Environment { .. }) => {
                root.merge(&respell::respell(values, schema, extensions), &layer.origin);
            }
            Ok(values) => root.merge(values, &layer.origin),
            Err(problem) => problems.push(problem),
        }
    }
    problems.extend(check(&root, schema, extensions));
    if problems.is_empty() { Ok(Settings::new(root.leaves())) } else { Err(problems) }
}

/// The settings as the tree they were merged from; for a section, that section's tree.
pub fn tree(settings: &Settings) -> Value {
    let mut root = SettingsNode::table(Origin::BuiltIn);
    for (name, setting) in settings.iter() {
        let path = keys(name).unwrap_or_else(|| vec![name.to_owned()]);
        root.merge(&layer::nest(&path, setting.value.clone()), &setting.origin);
    }
    root.value()
}

fn table_of(layer: &Layer) -> Result<&Map<String, Value>, ConfigProblem> {
    let problem =
        |message: String| ConfigProblem { name: String::new(), message, origin: layer.origin.clone(), hint: None };
    let Value::Object(values) = &layer.values else {
        return Err(problem("expected named values".to_owned()));
    };
    if is_deeper_than(&layer.values, MAX_NESTING) {
        return Err(problem(format!("nested deeper than {MAX_NESTING} levels")));
    }
    Ok(values)
}

fn check(root: &SettingsNode, schema: &Value, extensions: &BTreeMap<ExtensionId, Value>) -> Vec<ConfigProblem> {
    let merged = root.value();
    let mut found = findings(schema, &merged);
    let section = merged.get(EXTENSIONS);
    let disabled = section.and_then(|section| section.get(DISABLED)).and_then(Value::as_array);
    let is_disabled = |id: &ExtensionId| disabled.is_some_and(|ids| ids.iter().any(|other| other == id.as_str()));
    for (id, schema) in extensions.iter().filter(|(id, _)| !is_disabled(id)) {
        if let Some(values) = section.and_then(|section| section.get(id.as_str())) {
            let place = [PathStep::Key(EXTENSIONS.to_owned()), PathStep::Key(id.as_str().to_owned())];
            let own = findings(schema, values).into_iter().map(|finding| finding.below(&place));
            let new: Vec<Finding> = own.filter(|finding| !found.contains(finding)).collect();
            found.extend(new);
        }
    }
    found.into_iter().map(|finding| problem(root, finding)).collect()
}

fn problem(root: &SettingsNode, finding: Finding) -> ConfigProblem {
    let name = finding.path();
    let origin = root.origin_at(&finding.steps).clone();
    let quoting = match origin {
        Origin::Environment { .. } | Origin::Flag { .. } if finding.expects_text() => {
            Some("put the value in double quotes to make it text".to_owned())
        }
        _ => None,
    };
    ConfigProblem { name, message: finding.message, origin, hint: finding.hint.or(quoting) }
}
