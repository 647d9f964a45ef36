//! Turns the YAML tree of the intent file into intents and reports everything that is wrong with it.
//!
//! Pure.

use std::collections::HashMap;

use dispatch_contracts::suggest::nearest;
use dispatch_glob::Glob;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};

use super::loaded::{IntentFileProblem, IntentFileState, LoadedIntents, ProblemSeverity, ROOT_KEY, TextPosition};
use super::yaml_tree::{YamlNode, YamlValue};
use crate::intent::{ClaimMode, IntentKind, IntentMode, IntentSpec, IntentStatus};

/// More problems than this are not reported.
const MAX_PROBLEMS: usize = 200;
const FIELDS: [&str; 11] = [
    "id",
    "name",
    "status",
    "owned_scope",
    "constraints",
    "acceptance_criteria",
    "created_at",
    "updated_at",
    "kind",
    "claim",
    "mode",
];
const STATUSES: [&str; 5] = ["PLANNED", "IN_PROGRESS", "COMPLETED", "BLOCKED", "ABANDONED"];
const KINDS: [&str; 5] = ["feature", "refactor", "fix", "docs", "config"];
const CLAIMS: [&str; 2] = ["shared", "exclusive"];
const MODES: [&str; 3] = ["observe", "warn", "enforce"];
const MAX_ID_CHARS: usize = 64;

/// Whether this is a valid intent id: it becomes part of file names, messages and commit trailers.
#[must_use]
pub fn is_valid_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let first = id.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first && id.len() <= MAX_ID_CHARS && id.bytes().all(allowed)
}

/// The intents that the tree declares, and its problems. `is_time` recognises a time as in RFC 3339.
pub(super) fn validate(root: Option<&YamlNode>, is_time: &dyn Fn(&str) -> bool) -> LoadedIntents {
    let Some(root) = root else {
        return LoadedIntents::malformed(
            TextPosition::START,
            "the file is empty",
            Some("expected a mapping with the key `active_intents`"),
        );
    };
    let mut checker = IntentFileValidator { problems: Vec::new(), is_time };
    let YamlValue::Mapping(entries, _) = &root.value else {
        let message = format!("expected a mapping with the key `{ROOT_KEY}`, found {}", root.kind());
        return LoadedIntents::malformed(root.position, message, None);
    };
    checker.keys(entries, &[ROOT_KEY]);
    let Some((_, list)) = root.entry(ROOT_KEY) else {
        checker.error(root.position, format!("missing key `{ROOT_KEY}`"), None);
        return LoadedIntents { state: IntentFileState::Malformed, intents: Vec::new(), problems: checker.problems };
    };
    let (state, intents) = match &list.value {
        YamlValue::List(items, _) => (IntentFileState::Read, checker.intents(items)),
        _ if list.is_null() => (IntentFileState::Read, Vec::new()),
        _ => {
            checker.error(list.position, format!("`{ROOT_KEY}` must be a list of intents, not {}", list.kind()), None);
            (IntentFileState::Malformed, Vec::new())
        }
    };
    let wrong = checker.problems.iter().any(|problem| problem.severity == ProblemSeverity::Error);
    let state = if intents.is_empty() && wrong { IntentFileState::Malformed } else { state };
    checker.problems.sort_by_key(|problem| problem.position);
    checker.problems.truncate(MAX_PROBLEMS);
    LoadedIntents { state, intents, problems: checker.problems }
}

struct IntentFileValidator<'a> {
    problems: Vec<IntentFileProblem>,
    /// Whether a text is a time as in RFC 3339.
    is_time: &'a dyn Fn(&str) -> bool,
}

impl IntentFileValidator<'_> {
    fn add(&mut self, severity: ProblemSeverity, position: TextPosition, message: String, hint: Option<String>) {
        self.problems.push(IntentFileProblem { position, severity, message, hint, intent: None });
    }

    fn error(&mut self, position: TextPosition, message: impl Into<String>, hint: Option<String>) {
        self.add(ProblemSeverity::Error, position, message.into(), hint);
    }

    fn warning(&mut self, position: TextPosition, message: impl Into<String>, hint: Option<String>) {
        self.add(ProblemSeverity::Warning, position, message.into(), hint);
    }

    /// Reports unknown and duplicate keys.
    fn keys(&mut self, entries: &[(YamlNode, YamlNode)], known: &[&str]) {
        let mut seen: HashMap<&str, TextPosition> = HashMap::new();
        for (key, _) in entries {
            let YamlValue::Scalar(name, _) = &key.value else {
                self.error(key.position, format!("a key must be text, not {}", key.kind()), None);
                continue;
            };
            if let Some(first) = seen.get(name.as_str()) {
                let message = format!("duplicate key `{name}`; first used in line {}", first.line);
                self.error(key.position, message, None);
            } else if !known.contains(&name.as_str()) {
                let hint = nearest(name, known.iter().copied()).map(|meant| format!("did you mean `{meant}`?"));
                self.warning(key.position, format!("unknown key `{name}`"), hint);
            }
            seen.entry(name).or_insert(key.position);
        }
    }

    fn intents(&mut self, items: &[YamlNode]) -> Vec<IntentSpec> {
        let mut intents: Vec<IntentSpec> = Vec::new();
        let mut seen: HashMap<String, TextPosition> = HashMap::new();
        for item in items {
            let first = self.problems.len();
            let Some(intent) = self.intent(item) else {
                let id = item.entry("id").and_then(|(_, id)| id.text());
                let new = self.problems.get_mut(first..).unwrap_or_default().iter_mut();
                let errors = new.filter(|problem| problem.severity == ProblemSeverity::Error);
                errors.for_each(|problem| problem.intent = id.map(str::to_owned));
                continue;
            };
            let at = item.entry("id").map_or(item.position, |(_, id)| id.position);
            if let Some(first) = seen.get(&intent.id) {
                let message = format!("duplicate id `{}`; first used in line {}", intent.id, first.line);
                self.error(at, message, Some("this intent is ignored".to_owned()));
                continue;
            }
            seen.insert(intent.id.clone(), at);
            intents.push(intent);
        }
        intents
    }

    /// `None` when a required field is missing or invalid.
    fn intent(&mut self, item: &YamlNode) -> Option<IntentSpec> {
        let YamlValue::Mapping(entries, _) = &item.value else {
            self.error(item.position, format!("an intent must be a mapping, not {}", item.kind()), None);
            return None;
        };
        self.keys(entries, &FIELDS);
        let (id, name) = (self.id(item), self.required_text(item, "name"));
        let status = self.required(item, "status");
        let status = status.and_then(|node| self.word::<IntentStatus>(node, "status", &STATUSES));
        let scope = self.required(item, "owned_scope").and_then(|node| self.scope(node));
        let constraints = self.texts(item, "constraints");
        let acceptance_criteria = self.texts(item, "acceptance_criteria");
        let (created_at, updated_at) = (self.date(item, "created_at"), self.date(item, "updated_at"));
        let kind = given(item, "kind").and_then(|node| self.word::<IntentKind>(node, "kind", &KINDS));
        let mode = given(item, "mode").and_then(|node| self.word::<IntentMode>(node, "mode", &MODES));
        let claim = given(item, "claim").and_then(|node| self.word::<ClaimMode>(node, "claim", &CLAIMS));
        Some(IntentSpec {
            id: id?,
            name: name?,
            status: status?,
            owned_scope: scope?,
            constraints,
            acceptance_criteria,
            created_at,
            updated_at,
            kind,
            claim,
            mode,
        })
    }

    fn required<'a>(&mut self, item: &'a YamlNode, field: &str) -> Option<&'a YamlNode> {
        match item.entry(field) {
            Some((_, value)) => Some(value),
            None => {
                self.error(item.position, format!("missing field `{field}`"), None);
                None
            }
        }
    }

    fn required_text(&mut self, item: &YamlNode, field: &str) -> Option<String> {
        let node = self.required(item, field)?;
        self.text(node, field).filter(|text| {
            let blank = text.trim().is_empty();
            if blank {
                self.error(node.position, format!("`{field}` is empty"), None);
            }
            !blank
        })
    }

    fn text(&mut self, node: &YamlNode, field: &str) -> Option<String> {
        if node.text().is_none() {
            let hint =
                (matches!(node.value, YamlValue::Scalar(..)) && !node.is_null()).then(|| "put it in quotes".to_owned());
            self.error(node.position, format!("`{field}` must be text, not {}", node.kind()), hint);
        }
        node.text().map(str::to_owned)
    }

    fn id(&mut self, item: &YamlNode) -> Option<String> {
        let id = self.required_text(item, "id")?;
        if is_valid_id(&id) {
            return Some(id);
        }
        let position = item.entry("id").map_or(item.position, |(_, value)| value.position);
        let hint = format!("use letters, digits, `-`, `_` and `.`, at most {MAX_ID_CHARS}, such as INT-001");
        self.error(position, format!("invalid id `{}`", id.escape_debug()), Some(hint));
        None
    }

    fn word<T: DeserializeOwned>(&mut self, node: &YamlNode, field: &str, known: &[&str]) -> Option<T> {
        let text = self.text(node, field)?;
        let deserializer: StrDeserializer<'_, WordError> = text.as_str().into_deserializer();
        let value = T::deserialize(deserializer).ok();
        if value.is_none() {
            let hint = match nearest(&text, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("expected one of {}", known.join(", ")),
            };
            self.error(node.position, format!("invalid {field} `{}`", text.escape_debug()), Some(hint));
        }
        value
    }

    fn date(&mut self, item: &YamlNode, field: &str) -> String {
        let Some(node) = given(item, field) else { return String::new() };
        let Some(text) = self.text(node, field) else { return String::new() };
        let is_day = text.len() == 10 && (self.is_time)(&format!("{text}T00:00:00Z"));
        if !is_day && !(self.is_time)(&text) {
            let hint = "write it as 2026-02-20 or 2026-02-20T09:30:00Z".to_owned();
            self.error(node.position, format!("invalid date `{}` in `{field}`", text.escape_debug()), Some(hint));
        }
        text
    }

    fn list<'a>(&mut self, node: &'a YamlNode, field: &str) -> Option<&'a [YamlNode]> {
        match &node.value {
            YamlValue::List(items, _) => Some(items),
            _ if node.is_null() => Some(&[]),
            _ => {
                let hint = node.text().map(|_| format!("write `{field}:` and start each item below it with `- `"));
                self.error(node.position, format!("`{field}` must be a list, not {}", node.kind()), hint);
                None
            }
        }
    }

    fn texts(&mut self, item: &YamlNode, field: &str) -> Vec<String> {
        let Some(node) = given(item, field) else { return Vec::new() };
        let items = self.list(node, field).unwrap_or_default();
        items.iter().filter_map(|item| self.text(item, field)).collect()
    }

    /// The valid globs. An invalid one only makes the scope smaller.
    fn scope(&mut self, node: &YamlNode) -> Option<Vec<String>> {
        let items = self.list(node, "owned_scope")?;
        if items.is_empty() {
            self.warning(node.position, "`owned_scope` is empty, so this intent cannot change any file", None);
        }
        Some(items.iter().filter_map(|item| self.glob(item)).collect())
    }

    fn glob(&mut self, node: &YamlNode) -> Option<String> {
        let text = self.text(node, "owned_scope")?;
        let shown = text.escape_debug();
        let glob = match Glob::new(&text) {
            Ok(glob) => glob,
            Err(error) => {
                self.error(node.position, format!("invalid glob `{shown}`: {error}"), None);
                return None;
            }
        };
        if text.trim().is_empty() || glob.matches_nothing() {
            self.error(node.position, format!("glob `{shown}` matches nothing"), None);
            return None;
        }
        if glob.leaves_its_folder() {
            let hint = "globs are relative to the workspace root and cannot leave it".to_owned();
            self.error(node.position, format!("glob `{shown}` leads out of the workspace"), Some(hint));
            return None;
        }
        if text.contains('\\') {
            let hint = "separate folders with `/`".to_owned();
            self.warning(node.position, format!("`\\` in `{shown}` escapes the next character"), Some(hint));
        }
        Some(text)
    }
}

/// A value that is present and not null.
fn given<'a>(item: &'a YamlNode, field: &str) -> Option<&'a YamlNode> {
    item.entry(field).map(|(_, value)| value).filter(|value| !value.is_null())
}
