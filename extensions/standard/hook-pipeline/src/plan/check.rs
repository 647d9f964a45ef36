//! Reads a plan and tells everything that is wrong with it at once.
//!
//! Pure.

use std::collections::HashSet;

use dispatch_glob::Glob;
use serde_json::{Map, Value};

use super::graph::find_cycle;
use super::model::{DecisionMark, Plan, PlanNode};
use super::problem::{PlanProblem, PlanProblemKind};

/// The version of the format.
pub(super) const PLAN_VERSION: u64 = 1;
/// The largest plan that is read.
pub const PLAN_LIMIT_BYTES: u64 = 1024 * 1024;
/// Nodes of one plan.
pub(super) const MAX_NODES: usize = 1000;
const MAX_ID_BYTES: usize = 64;
const MAX_TITLE_BYTES: usize = 500;
const MAX_SCOPE: usize = 64;
const MAX_LIST: usize = MAX_NODES;
const MAX_TEXT_BYTES: usize = 4096;
/// The most problems that are collected.
const MAX_PROBLEMS: usize = 200;

/// Reads a plan.
///
/// # Errors
/// Every problem that was found, in the order of the text.
pub fn parse(bytes: &[u8]) -> Result<Plan, Vec<PlanProblem>> {
    let mut check = PlanChecker::default();
    if bytes.len() as u64 > PLAN_LIMIT_BYTES {
        check.tell("", PlanProblemKind::Unreadable { limit: PLAN_LIMIT_BYTES });
        return Err(check.problems);
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let plan = match serde_json::from_slice::<Value>(text) {
        Ok(Value::Object(fields)) => check.plan(&fields),
        Ok(_) => {
            check.tell("", PlanProblemKind::WrongType("an object"));
            None
        }
        Err(error) => {
            check.tell("", PlanProblemKind::NotJson(error.to_string()));
            None
        }
    };
    match plan {
        Some(plan) if check.problems.is_empty() => Ok(plan),
        _ => Err(check.problems),
    }
}

#[derive(Default)]
struct PlanChecker {
    problems: Vec<PlanProblem>,
}

impl PlanChecker {
    fn tell(&mut self, place: impl Into<String>, kind: PlanProblemKind) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(PlanProblem { place: place.into(), kind });
        }
    }

    fn plan(&mut self, fields: &Map<String, Value>) -> Option<Plan> {
        match fields.get("version") {
            None => self.tell("version", PlanProblemKind::Missing),
            Some(version) if version.as_u64() == Some(PLAN_VERSION) => {}
            Some(_) => self.tell("version", PlanProblemKind::Version { known: PLAN_VERSION }),
        }
        let entries = match fields.get("nodes") {
            None => {
                self.tell("nodes", PlanProblemKind::Missing);
                return None;
            }
            Some(Value::Array(entries)) => entries,
            Some(_) => {
                self.tell("nodes", PlanProblemKind::WrongType("a list"));
                return None;
            }
        };
        if entries.is_empty() {
            self.tell("nodes", PlanProblemKind::Empty);
        }
        if entries.len() > MAX_NODES {
            self.tell("nodes", PlanProblemKind::TooLong { limit: MAX_NODES });
            return None;
        }
        let nodes = entries.iter().enumerate().map(|(index, entry)| self.node(&format!("nodes[{index}]"), entry));
        let nodes: Vec<PlanNode> = nodes.collect();
        self.order(&nodes);
        Some(Plan { version: PLAN_VERSION, nodes })
    }

    fn node(&mut self, place: &str, entry: &Value) -> PlanNode {
        let Value::Object(fields) = entry else {
            self.tell(place, PlanProblemKind::WrongType("an object"));
            return PlanNode::default();
        };
        let mut node = PlanNode {
            id: self.text(place, fields, "id", MAX_ID_BYTES),
            title: self.text(place, fields, "title", MAX_TITLE_BYTES),
            ..PlanNode::default()
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if !node.id.bytes().all(plain) {
            self.tell(format!("{place}.id"), PlanProblemKind::BadId);
        }
        match self.list(place, fields, "scope", MAX_SCOPE) {
            None => self.tell(format!("{place}.scope"), PlanProblemKind::Missing),
            Some(scope) => node.scope = scope,
        }
        for (index, glob) in node.scope.iter().enumerate() {
            self.glob(&format!("{place}.scope[{index}]"), glob);
        }
        node.tools = self.list(place, fields, "tools", MAX_LIST);
        match self.list(place, fields, "dependsOn", MAX_LIST) {
            None => self.tell(format!("{place}.dependsOn"), PlanProblemKind::Missing),
            Some(ids) => node.depends_on = ids,
        }
        node.validations = self.list(place, fields, "validations", MAX_LIST).unwrap_or_default();
        node.decision = match fields.get("decision") {
            None | Some(Value::Null) => None,
            Some(Value::Bool(flag)) => Some(DecisionMark::Flag(*flag)),
            Some(Value::String(text)) => Some(DecisionMark::Text(text.clone())),
            Some(_) => {
                self.tell(format!("{place}.decision"), PlanProblemKind::WrongType("true, false or a string"));
                None
            }
        };
        node
    }

    fn text(&mut self, place: &str, fields: &Map<String, Value>, name: &str, limit: usize) -> String {
        let place = format!("{place}.{name}");
        match fields.get(name) {
            None => self.tell(place, PlanProblemKind::Missing),
            Some(Value::String(text)) if text.trim().is_empty() => self.tell(place, PlanProblemKind::Empty),
            Some(Value::String(text)) if text.len() > limit => self.tell(place, PlanProblemKind::TooLong { limit }),
            Some(Value::String(text)) => return text.clone(),
            Some(_) => self.tell(place, PlanProblemKind::WrongType("a string")),
        }
        String::new()
    }

    /// A list of texts; nothing if the field is not there.
    fn list(&mut self, place: &str, fields: &Map<String, Value>, name: &str, limit: usize) -> Option<Vec<String>> {
        let value = fields.get(name).filter(|value| !value.is_null())?;
        let place = format!("{place}.{name}");
        let Value::Array(entries) = value else {
            self.tell(place, PlanProblemKind::WrongType("a list of strings"));
            return Some(Vec::new());
        };
        if entries.len() > limit {
            self.tell(place.as_str(), PlanProblemKind::TooLong { limit });
        }
        let mut texts = Vec::new();
        for (index, entry) in entries.iter().take(limit).enumerate() {
            let place = format!("{place}[{index}]");
            match entry.as_str() {
                None => self.tell(place, PlanProblemKind::WrongType("a string")),
                Some(text) if text.trim().is_empty() => self.tell(place, PlanProblemKind::Empty),
                Some(text) if text.len() > MAX_TEXT_BYTES => {
                    self.tell(place, PlanProblemKind::TooLong { limit: MAX_TEXT_BYTES });
                }
                Some(text) => texts.push(text.to_owned()),
            }
        }
        Some(texts)
    }

    fn glob(&mut self, place: &str, text: &str) {
        match Glob::new(text) {
            Err(error) => self.tell(place, PlanProblemKind::Glob(error)),
            Ok(glob) if glob.matches_nothing() => self.tell(place, PlanProblemKind::MatchesNothing),
            // A backslash separates folders on Windows, so it could hide a way up there.
            Ok(glob) if glob.leaves_its_folder() || text.contains("..\\") || text.starts_with("\\\\") => {
                self.tell(place, PlanProblemKind::OutsideWorkspace(text.to_owned()));
            }
            Ok(_) => {}
        }
    }

    /// Unique ids, known dependencies, no cycle.
    fn order(&mut self, nodes: &[PlanNode]) {
        let mut ids = HashSet::new();
        for (index, node) in nodes.iter().enumerate().filter(|(_, node)| !node.id.is_empty()) {
            if !ids.insert(node.id.as_str()) {
                self.tell(format!("nodes[{index}].id"), PlanProblemKind::DuplicateId(node.id.clone()));
            }
        }
        for (index, node) in nodes.iter().enumerate() {
            for (place, id) in node.depends_on.iter().enumerate().filter(|(_, id)| !ids.contains(id.as_str())) {
                self.tell(format!("nodes[{index}].dependsOn[{place}]"), PlanProblemKind::UnknownNode(id.clone()));
            }
        }
        if let Some(cycle) = find_cycle(nodes) {
            self.tell("nodes", PlanProblemKind::Cycle(cycle));
        }
    }
}
