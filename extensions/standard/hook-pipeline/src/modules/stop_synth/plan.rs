//! The plan in force and how far each of its nodes is.

use dispatch_hook_module::Context;

use crate::plan::{Found, Marked, NodeStatus, Plan, PlanNode, Progress, find};

/// A plan and its progress.
pub(super) struct Planned {
    plan: Plan,
    progress: Progress,
}

impl Planned {
    /// The plan that the state points to; nothing if there is none or it cannot be used.
    pub(super) fn of(ctx: &Context<'_>) -> Option<Self> {
        ctx.state.plan_path()?;
        match find(ctx.paths, ctx.state, ctx.session) {
            Found::Valid { plan, .. } => Some(Self { plan, progress: Progress::of(ctx.state) }),
            Found::Nothing | Found::Invalid { .. } => None,
        }
    }

    /// The nodes in the order of the plan, and how far each is.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&PlanNode, NodeStatus)> {
        self.plan.nodes.iter().map(|node| (node, self.progress.status(&node.id)))
    }
}

/// What a node decides, if it is marked as a decision; its title where the mark says no more.
pub(super) fn decision(node: &PlanNode) -> Option<&str> {
    match node.decision.as_ref()? {
        Marked::Flag(false) => None,
        Marked::Text(text) if !text.trim().is_empty() => Some(text),
        Marked::Flag(true) | Marked::Text(_) => Some(&node.title),
    }
}
