//! The plan in force and how far each of its nodes is.
//!
//! Pure.

use dispatch_hook_module::Context;

use crate::plan::{DecisionMark, NodeStatus, Plan, PlanLookup, PlanNode, PlanProgress, find};

/// A plan and its progress.
pub(super) struct PlanSummary {
    plan: Plan,
    progress: PlanProgress,
}

impl PlanSummary {
    /// The plan that the state points to; nothing if there is none or it cannot be used.
    pub(super) fn of(ctx: &Context<'_>) -> Option<Self> {
        ctx.state.plan_path()?;
        match find(ctx.paths, ctx.state, ctx.session) {
            PlanLookup::Valid { plan, .. } => Some(Self { plan, progress: PlanProgress::of(ctx.state) }),
            PlanLookup::Nothing | PlanLookup::Invalid { .. } => None,
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
        DecisionMark::Flag(false) => None,
        DecisionMark::Text(text) if !text.trim().is_empty() => Some(text),
        DecisionMark::Flag(true) | DecisionMark::Text(_) => Some(&node.title),
    }
}
