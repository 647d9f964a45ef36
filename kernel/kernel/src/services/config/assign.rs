//! Settings that come as a name and a text: environment variables and flags.
//!
//! A text that is a JSON document is that value (`true`, `12`, `["a"]`, `null`, `"12"`); any other
//! text stands for itself.

use super::layer::{Layer, MAX_NESTING, nest};
use super::problem::ConfigProblem;
use dispatch_contracts::settings::Origin;
use serde_json::Value;

/// What the variables that hold settings begin with.
const PREFIX: &str = "DISPATCH_";
/// Variables with a name of their own, and the setting that each is; their text is never read as JSON.
const SHORT_NAMES: [(&str, &[&str]); 2] =
    [("DISPATCH_BASE_URL", &["model", "base_url"]), ("DISPATCH_MODEL", &["model", "model"])];
/// What separates the keys in a variable's name.
const SEPARATOR: &str = "__";
/// The flag that sets one thing.
const FLAG: &str = "--set";

/// The layers that environment variables make, one per variable, in the order of their names.
///
/// `DISPATCH_LOG__LEVEL` sets `log.level`: keys are separated by two underscores and lower-cased.
/// A single underscore stays; when the layers are merged, each key takes the spelling that the
/// schema knows (`MAX_ITEMS` is `maxItems`). A variable without a double underscore, such as
/// `DISPATCH_HOME`, is not a setting, except `DISPATCH_BASE_URL` and `DISPATCH_MODEL`, which set the
/// model. An empty variable counts as not set.
pub fn from_environment(variables: &[(String, String)]) -> Result<Vec<Layer>, Vec<ConfigProblem>> {
    let mut settings: Vec<(&String, &str, &String)> = variables
        .iter()
        .filter_map(|(variable, text)| Some((variable, variable.strip_prefix(PREFIX)?, text)))
        .filter(|(_, name, text)| name.contains(SEPARATOR) && !text.is_empty())
        .collect();
    settings.sort();
    let (mut layers, mut problems) = (short_names(variables), Vec::new());
    for (variable, name, text) in settings {
        let origin = Origin::Environment { variable: variable.clone() };
        let path: Vec<String> = name.split(SEPARATOR).map(str::to_ascii_lowercase).collect();
        if path.iter().any(String::is_empty) {
            let message = "a key is empty: two underscores stand between keys".to_owned();
            problems.push(ConfigProblem { name: String::new(), message, origin, hint: None });
        } else if path.len() > MAX_NESTING {
            let message = format!("nested deeper than {MAX_NESTING} levels");
            problems.push(ConfigProblem { name: String::new(), message, origin, hint: None });
        } else {
            layers.push(Layer::new(origin, Value::Object(nest(&path, parsed(text)))));
        }
    }
    if problems.is_empty() { Ok(layers) } else { Err(problems) }
}

fn short_names(variables: &[(String, String)]) -> Vec<Layer> {
    let layer = |(variable, path): &(&str, &[&str])| {
        let (_, text) = variables.iter().find(|(name, text)| name == variable && !text.is_empty())?;
        let path: Vec<String> = path.iter().map(|&key| key.to_owned()).collect();
        let origin = Origin::Environment { variable: (*variable).to_owned() };
        Some(Layer::new(origin, Value::Object(nest(&path, Value::String(text.clone())))))
    };
    SHORT_NAMES.iter().filter_map(layer).collect()
}

/// The layer that one flag makes, from `model.model=text`.
pub fn from_flag(assignment: &str) -> Result<Layer, ConfigProblem> {
    let split = split(assignment);
    let flag = split.map_or_else(|| FLAG.to_owned(), |(name, _)| format!("{FLAG} {name}"));
    let origin = Origin::Flag { flag };
    let layer = split.and_then(|(name, text)| Layer::single(origin.clone(), name, parsed(text)));
    layer.ok_or_else(|| ConfigProblem {
        name: String::new(),
        message: "expected a setting's name, `=` and its value".to_owned(),
        origin,
        hint: Some(format!("write it like `{FLAG} model.model=value`")),
    })
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The name and the text, at the first `=` that is not part of a quoted key.
fn split(assignment: &str) -> Option<(&str, &str)> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in assignment.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '=' if !quoted => return Some((assignment.get(..at)?.trim(), assignment.get(at + 1..)?)),
            _ => {}
        }
    }
    None
}
