//! What a tree says about intents, and everything in it that is wrong.

use std::collections::HashMap;

use dispatch_contracts::suggest::nearest;
use dispatch_glob::Glob;
use dispatch_os::time::parse_rfc3339;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};

use super::tree::{Node, Value};
use super::{FileState, Loaded, MAX_PROBLEMS, Place, Problem, Severity};
use crate::intent::{Claim, IntentKind, IntentSpec, IntentStatus};

pub(super) const ROOT_KEY: &str = "active_intents";
const FIELDS: [&str; 10] = [
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
];
const STATUSES: [&str; 5] = ["PLANNED", "IN_PROGRESS", "COMPLETED", "BLOCKED", "ABANDONED"];
const KINDS: [&str; 5] = ["feature", "refactor", "fix", "docs", "config"];
const CLAIMS: [&str; 2] = ["shared", "exclusive"];
const MAX_ID_CHARS: usize = 64;

/// Whether this can be the id of an intent: it becomes part of file names, messages and commit trailers.
#[must_use]
pub fn is_valid_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let first = id.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    first && id.len() <= MAX_ID_CHARS && id.bytes().all(allowed)
}

/// Everything that the tree declares, and what is wrong with it.
pub(super) fn check(root: Option<&Node>) -> Loaded {
    let Some(root) = root else {
        return Loaded::malformed(
            Place::START,
            "the file is empty",
            Some("it is a mapping with one key, `active_intents`"),
        );
    };
    let mut checker = Checker { problems: Vec::new() };
    let Value::Mapping(entries, _) = &root.value else {
        let message = format!("the file must be a mapping with the key `{ROOT_KEY}`, and is {}", root.kind());
        return Loaded::malformed(root.place, message, None);
    };
    checker.keys(entries, &[ROOT_KEY]);
    let Some((_, list)) = root.entry(ROOT_KEY) else {
        checker.error(root.place, format!("the key `{ROOT_KEY}` is missing"), None);
        return Loaded { state: FileState::Malformed, intents: Vec::new(), problems: checker.problems };
    };
    let (state, intents) = match &list.value {
        Value::List(items, _) => (FileState::Read, checker.intents(items)),
        _ if list.is_null() => (FileState::Read, Vec::new()),
        _ => {
            checker.error(list.place, format!("`{ROOT_KEY}` must be a list of intents, and is {}", list.kind()), None);
            (FileState::Malformed, Vec::new())
        }
    };
    let wrong = checker.problems.iter().any(|problem| problem.severity == Severity::Error);
    let state = if intents.is_empty() && wrong { FileState::Malformed } else { state };
    checker.problems.sort_by_key(|problem| problem.place);
    checker.problems.truncate(MAX_PROBLEMS);
    Loaded { state, intents, problems: checker.problems }
}

struct Checker {
    problems: Vec<Problem>,
}

impl Checker {
    fn add(&mut self, severity: Severity, place: Place, message: String, hint: Option<String>) {
        self.problems.push(Problem { place, severity, message, hint });
    }

    fn error(&mut self, place: Place, message: impl Into<String>, hint: Option<String>) {
        self.add(Severity::Error, place, message.into(), hint);
    }

    fn warning(&mut self, place: Place, message: impl Into<String>, hint: Option<String>) {
        self.add(Severity::Warning, place, message.into(), hint);
    }

    /// Keys that nobody reads, and keys that are there twice.
    fn keys(&mut self, entries: &[(Node, Node)], known: &[&str]) {
        let mut seen: HashMap<&str, Place> = HashMap::new();
        for (key, _) in entries {
            let Value::Scalar(name, _) = &key.value else {
                self.error(key.place, format!("a key must be text, and is {}", key.kind()), None);
                continue;
            };
            if let Some(first) = seen.get(name.as_str()) {
                let message = format!("the key `{name}` is there twice; the first is in line {}", first.line);
                self.error(key.place, message, None);
            } else if !known.contains(&name.as_str()) {
                let hint = nearest(name, known.iter().copied()).map(|meant| format!("did you mean `{meant}`?"));
                self.warning(key.place, format!("nobody reads the key `{name}`"), hint);
            }
            seen.entry(name).or_insert(key.place);
        }
    }

    fn intents(&mut self, items: &[Node]) -> Vec<IntentSpec> {
        let mut intents: Vec<IntentSpec> = Vec::new();
        let mut seen: HashMap<String, Place> = HashMap::new();
        for item in items {
            let Some(intent) = self.intent(item) else { continue };
            let at = item.entry("id").map_or(item.place, |(_, id)| id.place);
            if let Some(first) = seen.get(&intent.id) {
                let message = format!("the id `{}` is taken by the intent in line {}", intent.id, first.line);
                self.error(at, message, Some("this one is left out".to_owned()));
                continue;
            }
            seen.insert(intent.id.clone(), at);
            intents.push(intent);
        }
        intents
    }

    /// `None` when one of the fields that everything rests on cannot be read.
    fn intent(&mut self, item: &Node) -> Option<IntentSpec> {
        let Value::Mapping(entries, _) = &item.value else {
            self.error(item.place, format!("an intent must be a mapping, and this is {}", item.kind()), None);
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
        let claim = given(item, "claim").and_then(|node| self.word::<Claim>(node, "claim", &CLAIMS));
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
        })
    }

    fn required<'a>(&mut self, item: &'a Node, field: &str) -> Option<&'a Node> {
        match item.entry(field) {
            Some((_, value)) => Some(value),
            None => {
                self.error(item.place, format!("the intent has no `{field}`"), None);
                None
            }
        }
    }

    fn required_text(&mut self, item: &Node, field: &str) -> Option<String> {
        let node = self.required(item, field)?;
        self.text(node, field).filter(|text| {
            let blank = text.trim().is_empty();
            if blank {
                self.error(node.place, format!("`{field}` is empty"), None);
            }
            !blank
        })
    }

    fn text(&mut self, node: &Node, field: &str) -> Option<String> {
        if node.text().is_none() {
            let hint =
                (matches!(node.value, Value::Scalar(..)) && !node.is_null()).then(|| "put it in quotes".to_owned());
            self.error(node.place, format!("`{field}` must be text, and is {}", node.kind()), hint);
        }
        node.text().map(str::to_owned)
    }

    fn id(&mut self, item: &Node) -> Option<String> {
        let id = self.required_text(item, "id")?;
        if is_valid_id(&id) {
            return Some(id);
        }
        let place = item.entry("id").map_or(item.place, |(_, value)| value.place);
        let hint = format!("letters, digits, `-`, `_` and `.`, at most {MAX_ID_CHARS}, such as INT-001");
        self.error(place, format!("`{}` cannot be an id", id.escape_debug()), Some(hint));
        None
    }

    fn word<T: DeserializeOwned>(&mut self, node: &Node, field: &str, known: &[&str]) -> Option<T> {
        let text = self.text(node, field)?;
        let deserializer: StrDeserializer<'_, WordError> = text.as_str().into_deserializer();
        let value = T::deserialize(deserializer).ok();
        if value.is_none() {
            let hint = match nearest(&text, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("it is one of {}", known.join(", ")),
            };
            self.error(node.place, format!("`{}` is no {field}", text.escape_debug()), Some(hint));
        }
        value
    }

    fn date(&mut self, item: &Node, field: &str) -> String {
        let Some(node) = given(item, field) else { return String::new() };
        let Some(text) = self.text(node, field) else { return String::new() };
        let is_day = text.len() == 10 && parse_rfc3339(&format!("{text}T00:00:00Z")).is_some();
        if !is_day && parse_rfc3339(&text).is_none() {
            let hint = "write it as 2026-02-20 or 2026-02-20T09:30:00Z".to_owned();
            self.error(node.place, format!("`{field}` is no date: `{}`", text.escape_debug()), Some(hint));
        }
        text
    }

    fn list<'a>(&mut self, node: &'a Node, field: &str) -> Option<&'a [Node]> {
        match &node.value {
            Value::List(items, _) => Some(items),
            _ if node.is_null() => Some(&[]),
            _ => {
                let hint = node.text().map(|_| format!("write `{field}:` and below it `- ` in front of each"));
                self.error(node.place, format!("`{field}` must be a list, and is {}", node.kind()), hint);
                None
            }
        }
    }

    fn texts(&mut self, item: &Node, field: &str) -> Vec<String> {
        let Some(node) = given(item, field) else { return Vec::new() };
        let items = self.list(node, field).unwrap_or_default();
        items.iter().filter_map(|item| self.text(item, field)).collect()
    }

    /// The globs that can be relied on. One that cannot only makes the scope smaller.
    fn scope(&mut self, node: &Node) -> Option<Vec<String>> {
        let items = self.list(node, "owned_scope")?;
        if items.is_empty() {
            self.warning(node.place, "`owned_scope` is empty, so the intent may change no file", None);
        }
        Some(items.iter().filter_map(|item| self.glob(item)).collect())
    }

    fn glob(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node, "owned_scope")?;
        let shown = text.escape_debug();
        let glob = match Glob::new(&text) {
            Ok(glob) => glob,
            Err(error) => {
                self.error(node.place, format!("`{shown}` is no glob: {error}"), None);
                return None;
            }
        };
        if text.trim().is_empty() || glob.matches_nothing() {
            self.error(node.place, format!("the glob `{shown}` matches nothing"), None);
            return None;
        }
        if glob.leaves_its_folder() {
            let hint = "globs are relative to the workspace and go down only".to_owned();
            self.error(node.place, format!("the glob `{shown}` leads out of the workspace"), Some(hint));
            return None;
        }
        if glob.is_negated() {
            let hint = "a file is in scope if one glob matches, so this adds files and takes none away".to_owned();
            self.warning(
                node.place,
                format!("`{shown}` owns every file that the rest of it does not match"),
                Some(hint),
            );
        } else if text.contains('\\') {
            let hint = "between folders stands `/`".to_owned();
            self.warning(node.place, format!("in `{shown}` the `\\` makes the next character ordinary"), Some(hint));
        }
        Some(text)
    }
}

/// A value that is there and not nothing.
fn given<'a>(item: &'a Node, field: &str) -> Option<&'a Node> {
    item.entry(field).map(|(_, value)| value).filter(|value| !value.is_null())
}
