//! The plan as data: nodes with a scope, an order and the checks that end them.
//!
//! Pure.

use dispatch_glob::Glob;
use dispatch_hook_module::phase::kind_name;
use dispatch_toolcall::ToolKind;
use serde::Serialize;

/// A plan that was checked: its ids are unique, its order has no cycle and its globs compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The version of the format.
    pub version: u64,
    /// The pieces of work.
    pub nodes: Vec<PlanNode>,
}

/// One piece of work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanNode {
    /// Its name in records and commands.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// Globs, relative to the workspace, of what it may change.
    pub scope: Vec<String>,
    /// Tools it may use; `kind:write` and the like stand for a kind. None means every tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Nodes that must be completed first.
    pub depends_on: Vec<String>,
    /// Commands that must succeed before it counts as completed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validations: Vec<String>,
    /// Whether it is a decision that is worth keeping, or which one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionMark>,
}

/// `true`, or a text that says more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DecisionMark {
    /// Whether it is one.
    Flag(bool),
    /// What it is.
    Text(String),
}

impl Plan {
    /// The node of this id.
    #[must_use]
    pub fn node(&self, id: &str) -> Option<&PlanNode> {
        self.nodes.iter().find(|node| node.id == id)
    }
}

impl PlanNode {
    /// The scope, ready to match. A checked plan has no glob that does not compile.
    #[must_use]
    pub fn globs(&self) -> Vec<Glob> {
        self.scope.iter().filter_map(|glob| Glob::new(glob).ok()).collect()
    }

    /// Whether it may use a tool.
    #[must_use]
    pub fn admits(&self, tool: &str, kind: ToolKind) -> bool {
        let Some(tools) = &self.tools else {
            return true;
        };
        tools.iter().any(|name| match name.strip_prefix("kind:") {
            Some(wanted) => wanted.eq_ignore_ascii_case(kind_name(kind)),
            None => name == "*" || name.eq_ignore_ascii_case(tool),
        })
    }
}
