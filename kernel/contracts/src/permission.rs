//! Permission rules as data; the kernel evaluates them, extensions ask and enforce.

use serde::{Deserialize, Serialize};

/// What a rule or an evaluation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Go on without asking.
    Allow,
    /// A person decides.
    Ask,
    /// Do not.
    Deny,
}

/// One rule. In both patterns `*` stands for any text and `?` for one character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionRule {
    /// What is asked for: a tool name or a capability.
    pub permission: String,
    /// What it is asked for on: a path, a command, an address. Default: everything.
    #[serde(default = "anything")]
    pub target: String,
    /// The answer.
    pub verdict: Verdict,
    /// Shown to whoever is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn anything() -> String {
    "*".to_owned()
}

/// A question to the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// A tool name or a capability.
    pub permission: String,
    /// A path, a command, an address.
    pub target: String,
}

/// The answer, and which rule gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionDecision {
    /// The answer.
    pub verdict: Verdict,
    /// Index of the rule that decided; `None` when no rule matched.
    pub rule: Option<usize>,
    /// The rule's reason, or the default's.
    pub reason: String,
}
