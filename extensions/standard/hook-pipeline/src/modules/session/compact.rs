//! What must survive when a conversation is compacted.
//!
//! Pure.

use std::collections::BTreeSet;
use std::path::Path;

use dispatch_hook_module::{Context, HookAction, RecordType};
use serde_json::{Value, json};

use super::start::standing;

const PLAN_LIMIT_BYTES: u64 = 1024 * 1024;
const MAX_NODES_SHOWN: usize = 20;

pub(super) fn before_compaction(ctx: &Context<'_>) -> HookAction {
    let mut lines = standing(ctx);
    lines.extend(open_nodes(ctx));
    lines.extend(unmet(ctx).into_iter().map(|rule| format!("Not done yet: {rule}")));
    HookAction::none()
        .with_record(RecordType::Compaction, json!({"trigger": ctx.event.source}))
        .with_context("session", lines.join("\n"))
}

/// The nodes of the plan that are not done, as far as there is a plan that can be read.
fn open_nodes(ctx: &Context<'_>) -> Vec<String> {
    let plan = ctx.state.plan_path().and_then(|path| {
        let bytes = ctx.session.read(&ctx.paths.repo_root.join(Path::new(path)), PLAN_LIMIT_BYTES)?;
        serde_json::from_slice::<Value>(&bytes).ok()
    });
    let nodes = plan.as_ref().and_then(|plan| plan.get("nodes")?.as_array());
    let status = ctx.state.plan_nodes();
    let line = |node: &Value| {
        let id = node.get("id")?.as_str()?;
        let title = node.get("title").and_then(Value::as_str).unwrap_or_default();
        let open = status.get(id) != Some(&"completed");
        open.then(|| format!("Open plan node {id}: {title}"))
    };
    nodes.into_iter().flatten().filter_map(line).take(MAX_NODES_SHOWN).collect()
}

/// Requirements of this work that were raised and not met since.
fn unmet(ctx: &Context<'_>) -> Vec<String> {
    let mut open = BTreeSet::new();
    for record in ctx.session.history().iter().filter(|record| record.work_id == ctx.ids.work_id) {
        let rule = record.data.get("rule").and_then(Value::as_str).unwrap_or_default();
        match record.kind {
            RecordType::RlmRequired => open.insert(rule.to_owned()),
            RecordType::RlmSatisfied => open.remove(rule),
            _ => false,
        };
    }
    open.into_iter().filter(|rule| !rule.is_empty()).collect()
}
