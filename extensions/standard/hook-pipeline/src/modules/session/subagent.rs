//! Subagents: each gets a short id, bound to the id its host gave it.
//!
//! Pure.

use dispatch_hook_module::{Context, HookAction, RecordType};
use serde_json::json;

pub(super) fn start(ctx: &Context<'_>) -> HookAction {
    HookAction::none().with_record(RecordType::SubagentStarted, facts(ctx))
}

pub(super) fn stop(ctx: &Context<'_>) -> HookAction {
    HookAction::none().with_record(RecordType::SubagentStopped, facts(ctx))
}

fn facts(ctx: &Context<'_>) -> serde_json::Value {
    json!({
        "agentId": ctx.ids.agent_id,
        "hostAgentId": ctx.event.agent_id,
        "agentType": ctx.event.agent_type,
    })
}
