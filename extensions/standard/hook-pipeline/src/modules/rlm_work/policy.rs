//! `rlm-policy.json`: the rules, each read on its own so that one mistake costs one rule.
//!
//! Pure.

use dispatch_hook_module::{Context, Decision};
use serde::Deserialize;
use serde_json::Value;

const POLICY_LIMIT_BYTES: u64 = 256 * 1024;
const MAX_RULES: usize = 200;
const MAX_ID_BYTES: usize = 64;

/// The rules in force.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DelegationPolicy {
    pub(super) rules: Vec<DelegationRule>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct DelegationRule {
    pub(super) id: String,
    #[serde(rename = "match")]
    pub(super) matches: RuleMatch,
    pub(super) require: RuleRequirement,
    pub(super) action: RuleAction,
    #[serde(default)]
    pub(super) message: String,
}

/// When a rule applies: everything that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RuleMatch {
    /// Names of tools.
    pub(super) tools: Option<Vec<String>>,
    /// Kinds of tools.
    pub(super) kinds: Option<Vec<String>>,
    /// Globs, relative to the workspace.
    pub(super) paths: Option<Vec<String>>,
    /// A regular expression over the command line.
    pub(super) command: Option<String>,
    /// The input, or a file that is read, is larger.
    pub(super) bytes_over: Option<u64>,
    /// There were more such calls in this turn, this one counted.
    pub(super) calls_per_turn_over: Option<usize>,
}

/// What lifts a rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RuleRequirement {
    /// Types of subagents that may do the work.
    pub(super) subagent: Vec<String>,
    /// What they must leave behind.
    pub(super) output: Option<RuleOutput>,
}

/// What a subagent must leave behind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct RuleOutput {
    /// Which files, relative to its folder.
    pub(super) glob: String,
    /// A schema, or the name of one in the schema folder.
    pub(super) schema: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(super) enum RuleAction {
    Deny,
    Ask,
    Warn,
}

impl RuleAction {
    /// The decision it stands for; none for a warning.
    pub(super) fn decision(self) -> Option<Decision> {
        match self {
            Self::Deny => Some(Decision::Deny),
            Self::Ask => Some(Decision::Ask),
            Self::Warn => None,
        }
    }
}

impl DelegationPolicy {
    /// Reads the policy of the workspace; a rule that cannot be used is reported and left out.
    pub(super) fn read(ctx: &Context<'_>) -> Self {
        let Some(bytes) = ctx.session.read(&ctx.paths.policy_file(), POLICY_LIMIT_BYTES) else {
            return Self::default();
        };
        let (policy, problems) = Self::parse(&bytes);
        for problem in problems {
            ctx.warn(format!("rlm-policy.json: {problem}"));
        }
        policy
    }

    pub(super) fn parse(bytes: &[u8]) -> (Self, Vec<String>) {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let document: Value = match serde_json::from_slice(text) {
            Ok(document) => document,
            Err(error) => return (Self::default(), vec![format!("not JSON: {error}")]),
        };
        let Some(entries) = document.get("rules").and_then(Value::as_array) else {
            return (Self::default(), vec!["`rules` must be a list".to_owned()]);
        };
        let mut problems = Vec::new();
        if entries.len() > MAX_RULES {
            problems.push(format!("only the first {MAX_RULES} rules apply"));
        }
        let mut rules: Vec<DelegationRule> = Vec::new();
        for (index, entry) in entries.iter().take(MAX_RULES).enumerate() {
            match DelegationRule::parse(entry) {
                Ok(rule) if rules.iter().any(|other| other.id == rule.id) => {
                    problems.push(format!("rules[{index}]: `{}` is the id of an earlier rule", rule.id));
                }
                Ok(rule) => rules.push(rule),
                Err(problem) => problems.push(format!("rules[{index}]: {problem}")),
            }
        }
        (Self { rules }, problems)
    }
}

impl DelegationRule {
    fn parse(entry: &Value) -> Result<Self, String> {
        let rule = Self::deserialize(entry).map_err(|error| error.to_string())?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if rule.id.is_empty() || rule.id.len() > MAX_ID_BYTES || !rule.id.bytes().all(plain) {
            return Err("`id` may contain only letters, digits, `.`, `_` and `-`, at most 64 characters".to_owned());
        }
        if rule.matches == RuleMatch::default() {
            return Err("`match` is empty, so the rule would apply to every call".to_owned());
        }
        if rule.require.subagent.is_empty() {
            return Err("`require.subagent` is empty, so nothing could lift the rule".to_owned());
        }
        Ok(rule)
    }

    /// The name under which the rule objects.
    pub(super) fn code(&self) -> String {
        format!("RLM-{}", self.id)
    }
}
