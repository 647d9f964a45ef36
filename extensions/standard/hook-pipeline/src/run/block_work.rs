//! When the work of a session is blocked, where phases are enforced: a violation of the policy, a plan that was not
//! delivered, or a call that passed because the budget was used up. A person takes it up again.
//!
//! Pure.

use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::state::{BlockTrigger, BlockedWork};
use dispatch_hook_module::{ContextNote, Decision, EmittedRecord, EventName, Record, RecordType};
use serde_json::{Value, json};

use crate::manifest::BlockingPolicy;
use crate::pipeline::{Folded, PHASE_CODE, Said};

/// Codes that say that a call could not be judged, which is not the agent's doing.
const NOT_JUDGED: &str = "PL";

/// Whether what was decided blocks the work; `turn` reads the records of this turn, and is asked only after a refusal.
pub(super) fn blocked_by<'r>(
    policy: &BlockingPolicy,
    event: &EventName,
    from: Phase,
    folded: &Folded,
    turn: impl FnOnce() -> Vec<&'r Record>,
) -> Option<BlockedWork> {
    if matches!(from, Phase::Blocked | Phase::Complete) {
        return None;
    }
    let blocked = |trigger, why| Some(BlockedWork { from, trigger, why });
    if folded.records.iter().any(|said| said.what.kind == RecordType::PlanRejected) {
        let why = "a planning subagent delivered no valid plan".to_owned();
        return blocked(BlockTrigger::ValidationFailure, why);
    }
    if *event != EventName::PreToolUse {
        return None;
    }
    if let (Some(module), true) = (&folded.out_of_time_at, policy.budget_exceeded) {
        let why = format!("the budget was used up before `{module}` had judged a call");
        return blocked(BlockTrigger::BudgetCap, why);
    }
    let code = folded.code.as_deref().filter(|code| folded.decision == Decision::Deny && is_violation(code))?;
    if policy.names(code) {
        return blocked(BlockTrigger::PolicyViolation, format!("a call was refused by {code}"));
    }
    let limit = policy.refusals_per_turn;
    let so_far = if limit > 1 { refusals(&turn()) + 1 } else { 1 };
    let why = format!("{so_far} calls of one turn were refused, the last by {code}");
    if limit > 0 && so_far >= limit { blocked(BlockTrigger::PolicyViolation, why) } else { None }
}

/// The phase itself holds what it refuses, and what could not be judged violates nothing.
fn is_violation(code: &str) -> bool {
    code != PHASE_CODE && !code.starts_with(NOT_JUDGED)
}

/// The refused calls of a turn since its phase last changed, each counted once.
fn refusals(turn: &[&Record]) -> usize {
    let since = turn.iter().rposition(|record| record.kind == RecordType::PhaseChanged).map_or(0, |at| at + 1);
    let text = |record: &Record, name: &str| record.data.get(name).and_then(Value::as_str).map(str::to_owned);
    let refused = |record: &&&Record| {
        record.kind == RecordType::HookRun
            && record.decision == Some(Decision::Deny)
            && record.event == EventName::PreToolUse.as_str()
            && record.data.get("redelivered").is_none()
            && record.data.get("canary").is_none()
            && text(record, "code").is_some_and(|code| is_violation(&code))
    };
    turn.get(since..).unwrap_or_default().iter().filter(refused).count()
}

/// Moves the work to `BLOCKED`: on record, in the state, and told to model and user.
pub(super) fn apply(work: &BlockedWork, now_ms: i64, folded: &mut Folded, module: &str) {
    let said = |what| Said { module: module.to_owned(), what };
    folded.records.push(said(EmittedRecord { kind: RecordType::PhaseChanged, data: work.record() }));
    folded.patches.push(Said { module: module.to_owned(), what: json!({"core": work.core_patch(now_ms)}) });
    let told = format!("The work is blocked now: {}. {}", work.why, work.way_out());
    // What follows may name the code too, so that nobody would put it in front any more.
    let code = folded.code.as_deref().map_or_else(String::new, |code| format!("{code}: "));
    match &mut folded.reason {
        Some(reason) if folded.decision != Decision::Allow => *reason = format!("{code}{reason}\n{told}"),
        _ => folded.context.push(ContextNote { key: module.to_owned(), value: told.clone() }),
    }
    folded.system_messages.push(told);
}
