//! The state that the ids of an event imply, as far as it is not known yet.
//!
//! Pure.

use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::{Context, EventName, MAIN_AGENT, agent_key};
use serde_json::{Map, Value};

/// A patch with what changes; nothing on the usual tool call, so that no file is written.
pub(super) fn patch(ctx: &Context<'_>) -> Option<Value> {
    let mut core = Map::new();
    let state = ctx.state;
    if state.text("core", "sessionId").is_none() {
        core.insert("sessionId".to_owned(), ctx.ids.session_id.as_str().into());
    }
    if ctx.ids.turn_id > state.last_turn_id() {
        core.insert("lastTurnId".to_owned(), ctx.ids.turn_id.into());
    }
    let new_work = state.work_id() != Some(&ctx.ids.work_id);
    if new_work {
        core.insert("workId".to_owned(), ctx.ids.work_id.as_str().into());
    }
    if let Some(phase) = phase(ctx, new_work) {
        core.insert("phase".to_owned(), phase.as_str().into());
        core.insert("phaseTs".to_owned(), ctx.timers.start_ms.into());
    }
    if let Some((key, id)) = agent(ctx) {
        core.insert("agents".to_owned(), Value::Object(Map::from_iter([(key, id.into())])));
    }
    (!core.is_empty()).then(|| Value::Object(Map::from_iter([("core".to_owned(), core.into())])))
}

fn phase(ctx: &Context<'_>, new_work: bool) -> Option<Phase> {
    let known = ctx.state.text("core", "phase").is_some();
    let prompt = ctx.event.name == EventName::UserPromptSubmit;
    match (prompt, ctx.phase()) {
        (true, Phase::Uninitialized) => Some(Phase::Planning),
        (true, _) if new_work => Some(Phase::Planning),
        _ if known => None,
        _ => Some(Phase::Uninitialized),
    }
}

fn agent(ctx: &Context<'_>) -> Option<(String, String)> {
    let key = agent_key(ctx.event.agent_id.as_deref(), ctx.event.agent_type.as_deref())?;
    let known = ctx.state.agents().contains_key(key.as_str());
    (!known && ctx.ids.agent_id != MAIN_AGENT).then(|| (key, ctx.ids.agent_id.clone()))
}
