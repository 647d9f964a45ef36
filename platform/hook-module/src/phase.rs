//! The lifecycle of a piece of work, and which tools each phase is open to.

use std::collections::BTreeMap;
use std::fmt;

use dispatch_toolcall::ToolKind;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Where a piece of work stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    /// Nothing was asked yet.
    #[default]
    Uninitialized,
    /// It is being found out what to do.
    Planning,
    /// A plan was accepted.
    Executing,
    /// Everything planned is done.
    Complete,
    /// Something must be put right first.
    Blocked,
}

impl Phase {
    /// All phases.
    pub const ALL: [Self; 5] = [Self::Uninitialized, Self::Planning, Self::Executing, Self::Complete, Self::Blocked];

    /// The name in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Uninitialized => "UNINITIALIZED",
            Self::Planning => "PLANNING",
            Self::Executing => "EXECUTING",
            Self::Complete => "COMPLETE",
            Self::Blocked => "BLOCKED",
        }
    }

    /// The phase of this name, in any case.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str().eq_ignore_ascii_case(name))
    }

    /// How far along it is; `BLOCKED` stands beside the others.
    #[must_use]
    pub fn ordinal(self) -> u8 {
        match self {
            Self::Uninitialized => 0,
            Self::Planning => 1,
            Self::Executing => 2,
            Self::Complete => 3,
            Self::Blocked => 99,
        }
    }
}

/// What becomes of a tool that a phase is not open to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PhaseMode {
    /// It is refused.
    #[default]
    Deny,
    /// It passes with a warning.
    Warn,
    /// It passes.
    Allow,
}

/// The tools of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AllowedTools {
    /// `"*"`: every tool. Any other single text is one tool.
    One(String),
    /// These tools; `kind:read` and the like stand for all tools of a kind.
    List(Vec<String>),
}

/// By hand, because the derived reader keeps a copy of everything before it tries one form after the other.
impl<'de> Deserialize<'de> for AllowedTools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherForm;

        impl<'de> Visitor<'de> for EitherForm {
            type Value = AllowedTools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a tool or a list of names")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(AllowedTools::One(name.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(name) = names.next_element()? {
                    list.push(name);
                }
                Ok(AllowedTools::List(list))
            }
        }

        deserializer.deserialize_any(EitherForm)
    }
}

impl AllowedTools {
    /// Whether a tool is among them.
    #[must_use]
    pub fn contains(&self, tool: &str, kind: ToolKind) -> bool {
        let names = match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::List(names) => names.as_slice(),
        };
        names.iter().any(|name| match name.strip_prefix("kind:") {
            Some(wanted) => wanted.eq_ignore_ascii_case(kind_name(kind)),
            None => name == "*" || name == tool,
        })
    }
}

/// The rule of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PhaseRule {
    /// The tools it is open to.
    pub allow_tools: AllowedTools,
    /// What becomes of the others.
    #[serde(default)]
    pub mode: PhaseMode,
}

/// The rules of all phases.
pub type PhasePolicy = BTreeMap<Phase, PhaseRule>;

/// The rules that hold when the manifest has none.
#[must_use]
pub fn default_policy() -> PhasePolicy {
    let looking =
        ["semantic_search", "read_file", "grep_search", "list_dir", "file_search", "kind:read", "kind:search"];
    let planning = [&looking[..], &["runSubagent", "kind:agent"]].concat();
    let rule = |tools: &[&str], mode| PhaseRule {
        allow_tools: AllowedTools::List(tools.iter().map(|tool| (*tool).to_owned()).collect()),
        mode,
    };
    PhasePolicy::from([
        (Phase::Uninitialized, rule(&looking, PhaseMode::Deny)),
        (Phase::Planning, rule(&planning, PhaseMode::Deny)),
        (Phase::Executing, rule(&["*"], PhaseMode::Allow)),
        (Phase::Complete, rule(&["read_file", "grep_search", "kind:read", "kind:search"], PhaseMode::Deny)),
        (Phase::Blocked, rule(&["read_file", "kind:read"], PhaseMode::Deny)),
    ])
}

/// The word for a kind of tool.
#[must_use]
pub fn kind_name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Search => "search",
        ToolKind::Write => "write",
        ToolKind::Execute => "execute",
        ToolKind::Fetch => "fetch",
        ToolKind::Agent => "agent",
        ToolKind::Mcp => "mcp",
        ToolKind::Other => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_have_their_ordinals_and_names() {
        let ordinals: Vec<u8> = Phase::ALL.iter().map(|phase| phase.ordinal()).collect();
        assert_eq!(ordinals, [0, 1, 2, 3, 99]);
        for phase in Phase::ALL {
            assert_eq!(Phase::named(phase.as_str()), Some(phase));
            assert_eq!(serde_json::to_value(phase).expect("text"), phase.as_str());
        }
        assert_eq!(Phase::named("done"), None);
    }

    #[test]
    fn a_list_of_tools_knows_names_kinds_and_everything() {
        let table = [
            (AllowedTools::One("*".to_owned()), "Bash", ToolKind::Execute, true),
            (AllowedTools::List(vec!["read_file".to_owned()]), "read_file", ToolKind::Read, true),
            (AllowedTools::List(vec!["read_file".to_owned()]), "Read", ToolKind::Read, false),
            (AllowedTools::List(vec!["kind:read".to_owned()]), "Read", ToolKind::Read, true),
            (AllowedTools::List(vec!["kind:read".to_owned()]), "Write", ToolKind::Write, false),
            (AllowedTools::List(vec![]), "Read", ToolKind::Read, false),
        ];
        for (tools, tool, kind, expected) in table {
            assert_eq!(tools.contains(tool, kind), expected, "{tools:?} {tool}");
        }
    }
}
