//! Rules of the user's own without code: `rules` in `config.json`, matched against a call.
//!
//! Pure.

use std::path::Path;

use dispatch_glob::Glob;
use dispatch_hook_module::Decision;
use dispatch_toolcall::{Access, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The code of every rule of one's own.
pub(crate) const OWN_RULE_CODE: &str = "OR01";
/// The section of the configuration that holds them, and the name under which the report lists them.
pub const OWN_RULES: &str = "rules";
/// Rules beyond this number are not looked at; `dispatch check` tells.
pub const MAX_OWN_RULES: usize = 256;
/// Objections that no rule lifts: those that protect the rules themselves, and a pipeline that cannot judge.
const NOT_LIFTED: [&str; 3] = ["SG", "PL", "ERROR"];

/// Whose file a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOwner {
    /// A project's, which may have come with a clone.
    Project,
    /// The user's own.
    User,
}

/// What a rule says about a call that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OwnRuleAnswer {
    /// No objection, and the host's own question is answered too.
    Grant,
    /// No objection.
    Allow,
    /// The user is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// Which calls a rule is about: everything that is given has to match.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OwnRuleCondition {
    /// A command with `*` for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A pattern of paths, relative to the workspace, absolute, or below `~/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The tool's name, with `*` for any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OwnRule {
    /// Which calls.
    pub when: OwnRuleCondition,
    /// What about them.
    pub then: OwnRuleAnswer,
    /// Why, for the model and the user.
    #[serde(default)]
    pub because: String,
}

/// The rules in force, each with whose it is.
#[derive(Debug, Clone, Default)]
pub struct OwnRules(Vec<(RuleOwner, OwnRule)>);

/// A call as rules see it.
#[derive(Clone, Copy)]
pub struct RuledCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// What it does.
    pub call: Option<&'a ToolCall>,
    /// The workspace.
    pub root: &'a Path,
    /// The user's home.
    pub home: Option<&'a str>,
}

impl OwnRules {
    /// The rules of a section. What is no rule is left out; `dispatch check` names it.
    #[must_use]
    pub fn of(section: &Value, owner: RuleOwner) -> Self {
        let listed = section.as_array();
        let rules = listed.into_iter().flatten().take(MAX_OWN_RULES);
        let parsed = rules.filter_map(|rule| OwnRule::deserialize(rule).ok()).filter(|rule| !rule.when.is_empty());
        Self(parsed.map(|rule| (owner, rule)).collect())
    }

    /// These and more.
    #[must_use]
    pub fn and(mut self, more: &Self) -> Self {
        self.0.extend(more.0.iter().cloned());
        self
    }

    /// One rule alone.
    #[must_use]
    pub fn single(rule: OwnRule) -> Self {
        Self(vec![(RuleOwner::User, rule)])
    }

    /// The rules, in order.
    pub fn into_rules(self) -> impl Iterator<Item = OwnRule> {
        self.0.into_iter().map(|(_, rule)| rule)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every rule that matches, in order.
    pub fn matching<'r>(&'r self, call: &RuledCall<'_>) -> impl Iterator<Item = &'r OwnRule> {
        self.0.iter().map(|(_, rule)| rule).filter(move |rule| rule.matches(call))
    }

    /// The strictest rule that matches; of equals, the first.
    pub(crate) fn strictest(&self, call: &RuledCall<'_>) -> Option<(RuleOwner, &OwnRule)> {
        let matching = self.0.iter().filter(|(_, rule)| rule.matches(call));
        matching.rev().max_by_key(|(_, rule)| rule.then).map(|(owner, rule)| (*owner, rule))
    }

    /// The rule that lifts an objection, if one does. A project's rule lifts questions; the user's own lifts denials
    /// too; neither lifts what protects the rules.
    pub(crate) fn lifting(&self, call: &RuledCall<'_>, wanted: Decision, code: Option<&str>) -> Option<&OwnRule> {
        if self.is_empty() || code.is_some_and(|code| NOT_LIFTED.iter().any(|kept| code.starts_with(kept))) {
            return None;
        }
        let (_, strictest) = self.strictest(call)?;
        let permits = |rule: &OwnRule| rule.then <= OwnRuleAnswer::Allow;
        if !permits(strictest) {
            return None;
        }
        let may = |owner: RuleOwner| wanted == Decision::Ask || owner == RuleOwner::User;
        self.0.iter().find(|(owner, rule)| permits(rule) && may(*owner) && rule.matches(call)).map(|(_, rule)| rule)
    }
}

impl OwnRuleCondition {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.command.is_none() && self.path.is_none() && self.tool.is_none()
    }
}

impl OwnRule {
    /// The sentence for the model and the user.
    pub(crate) fn reason(&self) -> String {
        let because = if self.because.is_empty() { "A rule of the user's own says so" } else { self.because.as_str() };
        because.to_owned()
    }

    fn matches(&self, ruled: &RuledCall<'_>) -> bool {
        let permits = self.then <= OwnRuleAnswer::Allow;
        let command = self.when.command.as_deref().is_none_or(|pattern| matches_command(pattern, ruled.call, permits));
        let path = self
            .when
            .path
            .as_deref()
            .is_none_or(|pattern| matches_path(pattern, ruled, self.when.tool.is_some(), permits));
        let tool = self.when.tool.as_deref().is_none_or(|pattern| is_like(pattern, ruled.tool));
        command && path && tool
    }
}

/// What refuses looks at every program call of a command; what permits has to cover all of them, and nothing may be
/// redirected.
fn matches_command(pattern: &str, call: Option<&ToolCall>, permits: bool) -> bool {
    let Some((call, effects)) = call.and_then(|call| Some((call, call.effects.as_ref()?))) else {
        return false;
    };
    let text = call.command.as_deref().unwrap_or_default().trim();
    let is_it = |command: &dispatch_toolcall::SimpleCommand| {
        is_like(pattern, &command.argv.join(" "))
            || command.argv.split_first().is_some_and(|(first, rest)| {
                // A program counts by its name, wherever it lies.
                let name = first.rsplit('/').next().unwrap_or(first);
                is_like(pattern, &[&[name.to_owned()], rest].concat().join(" "))
            })
    };
    match permits {
        true => {
            !effects.commands.is_empty()
                && effects.commands.iter().all(is_it)
                && !text.contains(['>', '<', '`'])
                && !text.contains("$(")
        }
        false => is_like(pattern, text) || effects.commands.iter().any(is_it),
    }
}

/// Paths that a call changes; those that it reads too where the rule names the tool.
fn matches_path(pattern: &str, ruled: &RuledCall<'_>, with_reads: bool, permits: bool) -> bool {
    let Some(call) = ruled.call else {
        return false;
    };
    let expanded = match (pattern.strip_prefix("~/"), ruled.home) {
        (Some(rest), Some(home)) => format!("{}/{rest}", home.trim_end_matches('/')),
        _ => pattern.to_owned(),
    };
    let Ok(glob) = Glob::new(expanded.trim_start_matches('/')) else {
        return false;
    };
    let root = ruled.root.to_string_lossy();
    let is_it = |path: &str| {
        let below = path.strip_prefix(&*root).and_then(|rest| rest.strip_prefix('/'));
        let shown = if expanded.starts_with('/') { Some(path.trim_start_matches('/')) } else { below };
        shown.is_some_and(|shown| glob.is_match(shown))
    };
    let mut touched = call.paths.iter().filter(|path| with_reads || path.access != Access::Read).peekable();
    match permits {
        true => touched.peek().is_some() && touched.all(|path| is_it(&path.path)),
        false => touched.any(|path| is_it(&path.path)),
    }
}

/// Whether a text is what a pattern says; ` *` at the end also stands for nothing.
fn is_like(pattern: &str, text: &str) -> bool {
    if pattern.strip_suffix(" *").is_some_and(|start| is_like(start, text)) {
        return true;
    }
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_toolcall::ReportedCall;
    use serde_json::json;

    fn rules(list: &Value, owner: RuleOwner) -> OwnRules {
        OwnRules::of(list, owner)
    }

    fn call(tool: &str, input: Value) -> ToolCall {
        ToolCall::classify(&ReportedCall {
            host: "claude-code",
            tool,
            input: &input,
            cwd: "/repo",
            home: Some("/home/dev"),
        })
    }

    fn answer(rules: &OwnRules, tool: &str, input: Value) -> Option<OwnRuleAnswer> {
        let call = call(tool, input);
        let ruled = RuledCall { tool, call: Some(&call), root: Path::new("/repo"), home: Some("/home/dev") };
        rules.strictest(&ruled).map(|(_, rule)| rule.then)
    }

    #[test]
    fn commands_paths_and_tools_are_matched() {
        let list = json!([
            {"when": {"command": "npm publish *"}, "then": "deny"},
            {"when": {"path": "infra/**"}, "then": "ask"},
            {"when": {"tool": "mcp__jira__*"}, "then": "grant"},
            {"when": {"command": "make deploy"}, "then": "allow"},
            {"when": {}, "then": "deny"},
            {"when": {"comand": "x"}, "then": "deny"},
        ]);
        let rules = rules(&list, RuleOwner::Project);
        let bash = |command: &str| answer(&rules, "Bash", json!({ "command": command }));
        assert_eq!(bash("npm publish"), Some(OwnRuleAnswer::Deny));
        assert_eq!(bash("cd x && sudo npm publish --tag next"), Some(OwnRuleAnswer::Deny));
        assert_eq!(bash("npm publishing"), None);
        assert_eq!(bash("echo npm publish"), None);
        assert_eq!(bash("make deploy"), Some(OwnRuleAnswer::Allow));
        assert_eq!(bash("make deploy; rm -rf x"), None, "what permits covers the whole command");
        assert_eq!(bash("make deploy > ~/.bashrc"), None);
        assert_eq!(
            answer(&rules, "Write", json!({"file_path": "/repo/infra/a.tf", "content": ""})),
            Some(OwnRuleAnswer::Ask)
        );
        assert_eq!(answer(&rules, "Read", json!({"file_path": "/repo/infra/a.tf"})), None);
        assert_eq!(answer(&rules, "mcp__jira__search", json!({})), Some(OwnRuleAnswer::Grant));
    }

    #[test]
    fn a_projects_rule_lifts_questions_and_the_users_own_lifts_denials_but_not_of_the_rules() {
        let list = json!([{"when": {"command": "git push --force *"}, "then": "allow"}]);
        let call = call("Bash", json!({"command": "git push --force origin x"}));
        let ruled = RuledCall { tool: "Bash", call: Some(&call), root: Path::new("/repo"), home: None };
        let lifts = |owner, wanted, code| rules(&list, owner).lifting(&ruled, wanted, Some(code)).is_some();
        assert!(lifts(RuleOwner::Project, Decision::Ask, "GT09"));
        assert!(!lifts(RuleOwner::Project, Decision::Deny, "GT04"));
        assert!(lifts(RuleOwner::User, Decision::Deny, "GT04"));
        assert!(!lifts(RuleOwner::User, Decision::Ask, "SG01"));
        assert!(!lifts(RuleOwner::User, Decision::Deny, "PL01"));
    }
}
