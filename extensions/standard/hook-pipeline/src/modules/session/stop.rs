//! The end of a turn, with numbers counted from the log.
//!
//! Pure.

use dispatch_hook_module::{Context, Decision, HookAction, Record, RecordType};
use serde_json::json;

pub(super) fn stop(ctx: &Context<'_>) -> HookAction {
    let history = ctx.session.history();
    let turn: Vec<&Record> = history.iter().filter(|record| record.turn_id == ctx.ids.turn_id).collect();
    let all: Vec<&Record> = history.iter().collect();
    let data = json!({
        "stopHookActive": ctx.event.stop_hook_active,
        "turn": counts(&turn),
        "session": counts(&all),
    });
    HookAction::none().with_record(RecordType::Stop, data)
}

fn counts(records: &[&Record]) -> serde_json::Value {
    let count = |wanted: &dyn Fn(&Record) -> bool| records.iter().filter(|record| wanted(record)).count();
    json!({
        "prompts": count(&|record| record.kind == RecordType::Prompt),
        "toolCalls": count(&|record| record.kind == RecordType::ToolCall),
        "failed": count(&|record| record.kind == RecordType::ToolResult && record.data["ok"] == false),
        "denied": count(&|record| record.decision == Some(Decision::Deny)),
        "asked": count(&|record| record.decision == Some(Decision::Ask)),
        "warnings": count(&|record| record.kind == RecordType::Warning),
    })
}
