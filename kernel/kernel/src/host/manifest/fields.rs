//! Reads the fields of a JSON object one by one, collecting problems instead of stopping at the first.

use super::ManifestProblem;
use dispatch_contracts::suggest::nearest;
use semver::{Version, VersionReq};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The problems found so far.
#[derive(Default)]
pub(super) struct Problems {
    list: Vec<ManifestProblem>,
}

impl Problems {
    pub(super) fn add(&mut self, path: impl Into<String>, message: impl Into<String>, hint: Option<String>) {
        self.list.push(ManifestProblem { path: path.into(), message: message.into(), hint });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether something was already said about a field, so that nothing is said twice.
    pub(super) fn mention(&self, path: &str) -> bool {
        self.list.iter().any(|problem| problem.path == path)
    }

    pub(super) fn into_list(self) -> Vec<ManifestProblem> {
        self.list
    }
}

/// One JSON object and where it stands.
pub(super) struct Fields<'a> {
    object: &'a Map<String, Value>,
    path: String,
}

impl<'a> Fields<'a> {
    pub(super) fn new(object: &'a Map<String, Value>, path: &str) -> Self {
        Self { object, path: path.to_owned() }
    }

    pub(super) fn of(json: &'a Value, path: &str, problems: &mut Problems) -> Option<Self> {
        let Value::Object(object) = json else {
            problems.add(path, format!("must be an object, not {}", kind_of(json)), None);
            return None;
        };
        Some(Self::new(object, path))
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Value> {
        self.object.get(key)
    }

    pub(super) fn refuse_unknown(&self, known: &[&str], problems: &mut Problems) {
        for key in self.object.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = nearest(key, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
            problems.add(self.at(key), "unknown field", hint);
        }
    }

    pub(super) fn missing(&self, key: &str, problems: &mut Problems) {
        problems.add(self.at(key), "is missing", None);
    }

    pub(super) fn required_text(&self, key: &str, problems: &mut Problems) -> Option<String> {
        if self.get(key).is_none() {
            self.missing(key, problems);
        }
        self.optional_text(key, problems)
    }

    pub(super) fn optional_text(&self, key: &str, problems: &mut Problems) -> Option<String> {
        text_of(self.get(key)?, &self.at(key), problems)
    }

    pub(super) fn required_version(&self, key: &str, problems: &mut Problems) -> Option<Version> {
        let text = self.required_text(key, problems)?;
        parsed(Version::parse(&text), &text, &self.at(key), "a version such as `1.2.3`", problems)
    }

    pub(super) fn required_range(&self, key: &str, problems: &mut Problems) -> Option<VersionReq> {
        if self.get(key).is_none() {
            self.missing(key, problems);
        }
        self.optional_range(key, problems)
    }

    pub(super) fn optional_range(&self, key: &str, problems: &mut Problems) -> Option<VersionReq> {
        let text = self.optional_text(key, problems)?;
        parsed(VersionReq::parse(&text), &text, &self.at(key), "a range such as `^1.2` or `*`", problems)
    }

    /// A yes or no; no when the field is absent.
    pub(super) fn optional_flag(&self, key: &str, problems: &mut Problems) -> bool {
        match self.get(key) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                problems.add(self.at(key), format!("must be true or false, not {}", kind_of(other)), None);
                false
            }
        }
    }

    pub(super) fn choice<T: DeserializeOwned>(&self, key: &str, names: &[&str], problems: &mut Problems) -> Option<T> {
        choose(self.get(key)?, &self.at(key), names, problems)
    }

    /// The entries of a list, each with its path; none when the field is absent or no list.
    pub(super) fn list(&self, key: &str, problems: &mut Problems) -> Vec<(String, &'a Value)> {
        match self.get(key) {
            None => Vec::new(),
            Some(Value::Array(entries)) => {
                entries.iter().enumerate().map(|(at, entry)| (format!("{}[{at}]", self.at(key)), entry)).collect()
            }
            Some(other) => {
                problems.add(self.at(key), format!("must be a list, not {}", kind_of(other)), None);
                Vec::new()
            }
        }
    }

    pub(super) fn texts(&self, key: &str, problems: &mut Problems) -> Vec<String> {
        let entries = self.list(key, problems);
        entries.into_iter().filter_map(|(path, entry)| text_of(entry, &path, problems)).collect()
    }

    fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// One of several words.
pub(super) fn choose<T: DeserializeOwned>(
    json: &Value,
    path: &str,
    names: &[&str],
    problems: &mut Problems,
) -> Option<T> {
    let text = text_of(json, path, problems)?;
    let chosen = serde_json::from_value(json.clone()).ok();
    if chosen.is_none() {
        let near = nearest(&text, names.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        let hint = near.unwrap_or_else(|| format!("one of: {}", names.join(", ")));
        problems.add(path, format!("unknown value `{}`", crate::bus::wording::one_line(&text)), Some(hint));
    }
    chosen
}

fn text_of(json: &Value, path: &str, problems: &mut Problems) -> Option<String> {
    let text = json.as_str().map(str::to_owned);
    if text.is_none() {
        problems.add(path, format!("must be text, not {}", kind_of(json)), None);
    }
    text
}

fn parsed<T>(
    outcome: Result<T, semver::Error>,
    text: &str,
    path: &str,
    wanted: &str,
    problems: &mut Problems,
) -> Option<T> {
    outcome
        .map_err(|error| {
            let text = crate::bus::wording::one_line(text);
            problems.add(path, format!("`{text}` is not {wanted}: {error}"), None);
        })
        .ok()
}

fn kind_of(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
