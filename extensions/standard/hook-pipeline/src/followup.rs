//! `followup-rules.json`: which reminder is given at which tool call. A broken rule does not affect the others.
//!
//! Pure.

mod check;
mod names;
mod path_pattern;
mod pattern;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use check::{FollowupRuleFault, FollowupRuleProblem};
pub(crate) use names::NameList;
pub(crate) use path_pattern::{compile_path, literal_pattern};
pub(crate) use pattern::{compile, escape};

/// The largest file of rules that is read.
pub const RULES_LIMIT_BYTES: u64 = 256 * 1024;
/// The most rules that are looked at.
pub(crate) const MAX_RULES: usize = 500;

/// How often a reminder is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReminderFrequency {
    /// Once in a session.
    #[default]
    Session,
    /// Once after each prompt.
    Turn,
    /// At every call that matches.
    Always,
}

/// When a reminder is given: all conditions that are there must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FollowupCondition {
    /// `PreToolUse`, `PostToolUse` or both.
    pub event: NameList,
    /// The host's names of tools; `*` at the end stands for any ending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<NameList>,
    /// Kinds of tools, such as `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<NameList>,
    /// Patterns of paths below the workspace; one path of the call has to match one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<NameList>,
    /// A regular expression that the command has to match somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A regular expression that the tool's result has to match somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Lifecycle phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<NameList>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FollowupRule {
    /// Its name: letters, digits, `.`, `_` and `-`.
    pub id: String,
    /// When it applies.
    pub when: FollowupCondition,
    /// What the model is told, with `{tool}`, `{path}`, `{command}` and `{intent}` filled in.
    pub inject: String,
    /// How often.
    #[serde(default)]
    pub once: ReminderFrequency,
    /// The higher, the earlier.
    #[serde(default)]
    pub priority: i32,
}

/// The rules that can be used, best first, and what is wrong with the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowupRules {
    /// By priority, then as they stand in the file.
    pub rules: Vec<FollowupRule>,
    /// One entry for every rule that cannot be used.
    pub faults: Vec<FollowupRuleFault>,
}

impl FollowupRules {
    /// Reads the rules. Patterns are not compiled here; see [`Self::pattern_faults`].
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let entries = match serde_json::from_slice::<Value>(text) {
            Ok(Value::Object(mut fields)) => fields.remove("rules"),
            Ok(_) => return Self::unusable(FollowupRuleProblem::NotAnObject),
            Err(error) => return Self::unusable(FollowupRuleProblem::NotJson(error.to_string())),
        };
        let Some(Value::Array(entries)) = entries else {
            return Self::unusable(FollowupRuleProblem::NoRules);
        };
        let mut found = Self::default();
        if entries.len() > MAX_RULES {
            found.faults.push(FollowupRuleFault::of_file(FollowupRuleProblem::TooMany));
        }
        for (index, entry) in entries.into_iter().take(MAX_RULES).enumerate() {
            found.add(index, entry);
        }
        found.rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        found
    }

    /// The rules whose patterns do not compile.
    #[must_use]
    pub fn pattern_faults(&self) -> Vec<FollowupRuleFault> {
        let patterns = |rule: &FollowupRule| {
            let regexes = [rule.when.command.as_deref(), rule.when.result.as_deref()].into_iter().flatten();
            let mut paths = rule.when.paths.iter().flat_map(NameList::iter);
            let cause = regexes.filter_map(|pattern| compile(pattern).err()).next();
            let cause = cause.or_else(|| paths.find_map(|pattern| compile_path(pattern).err()))?;
            Some(FollowupRuleFault { rule: rule.id.clone(), cause })
        };
        self.rules.iter().filter_map(patterns).collect()
    }

    fn unusable(cause: FollowupRuleProblem) -> Self {
        Self { rules: Vec::new(), faults: vec![FollowupRuleFault::of_file(cause)] }
    }

    fn add(&mut self, index: usize, entry: Value) {
        let name = check::name_of(index, &entry);
        match FollowupRule::deserialize(entry) {
            Err(error) => {
                self.faults.push(FollowupRuleFault { rule: name, cause: FollowupRuleProblem::Shape(error.to_string()) })
            }
            Ok(rule) => match check::cause(&rule, &self.rules) {
                Some(cause) => self.faults.push(FollowupRuleFault { rule: name, cause }),
                None => self.rules.push(rule),
            },
        }
    }
}
