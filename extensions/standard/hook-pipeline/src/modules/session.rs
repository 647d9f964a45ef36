//! Ids, turns and the plain facts of a session: who asked what, which tool ran, how it ended.
//!
//! Pure.

mod compact;
mod pointers;
mod start;
mod stop;
mod subagent;
mod tool;

#[cfg(test)]
mod tests;

use dispatch_hook_module::digest::sha256_hex;
use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::{Context, EventName, HookAction, Module, ModuleError, ModuleSpec, RecordType};
use serde_json::json;

/// Keeps the record of a session.
pub(crate) struct Session;

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &EventName::KNOWN,
    priority: 0,
    hot_path_safe: true,
    critical: true,
    on_by_default: true,
    keeps_session: true,
    ..ModuleSpec::named("session")
};

impl Module for Session {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let mut action = match &ctx.event.name {
            EventName::SessionStart => start::session_start(ctx),
            EventName::UserPromptSubmit => prompt(ctx),
            EventName::PreToolUse => tool::before(ctx),
            EventName::PostToolUse => tool::after(ctx),
            EventName::SubagentStart => subagent::start(ctx),
            EventName::SubagentStop => subagent::stop(ctx),
            EventName::PreCompact => compact::before_compaction(ctx),
            EventName::Stop => stop::stop(ctx),
            EventName::Other(_) => HookAction::none(),
        };
        action.state_patch = pointers::patch(ctx);
        Ok(action)
    }
}

fn prompt(ctx: &Context<'_>) -> HookAction {
    let text = ctx.event.prompt.as_deref().unwrap_or_default();
    let data = json!({
        "sha256": sha256_hex(text.as_bytes()),
        "chars": text.chars().count(),
        "text": text,
    });
    let action = HookAction::none().with_record(RecordType::Prompt, data);
    let new_work = ctx.state.work_id().is_some_and(|work| work != ctx.ids.work_id);
    match ctx.phase() {
        from if new_work => {
            let data = json!({"from": from.as_str(), "to": Phase::Planning.as_str(), "trigger": "new work"});
            action.with_record(RecordType::PhaseChanged, data)
        }
        from @ Phase::Uninitialized => {
            let data = json!({"from": from.as_str(), "to": Phase::Planning.as_str(), "trigger": "first prompt"});
            action.with_record(RecordType::PhaseChanged, data)
        }
        _ => action,
    }
}
