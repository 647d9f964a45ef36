//! How far the nodes of a plan are.
//!
//! Pure.

use std::collections::BTreeMap;

use dispatch_hook_module::SessionState;

/// How far a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NodeStatus {
    /// Nobody began.
    #[default]
    Pending,
    /// Someone works on it.
    Started,
    /// It is done and its checks passed.
    Completed,
    /// A check failed.
    Failed,
}

impl NodeStatus {
    /// The word in the state.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Started => "started",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "started" => Self::Started,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            _ => Self::Pending,
        }
    }
}

/// How far each node is, by its id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanProgress(BTreeMap<String, NodeStatus>);

impl PlanProgress {
    /// What the session's state says.
    #[must_use]
    pub fn of(state: &SessionState) -> Self {
        state.plan_nodes().into_iter().map(|(id, status)| (id, NodeStatus::named(status))).collect()
    }

    /// How far a node is.
    #[must_use]
    pub fn status(&self, id: &str) -> NodeStatus {
        self.0.get(id).copied().unwrap_or_default()
    }
}

impl<T: Into<String>> FromIterator<(T, NodeStatus)> for PlanProgress {
    fn from_iter<I: IntoIterator<Item = (T, NodeStatus)>>(entries: I) -> Self {
        Self(entries.into_iter().map(|(id, status)| (id.into(), status)).collect())
    }
}
