//! Gives the right reminder at the right tool call, by the rules that people wrote or promoted.
//!
//! Pure.

mod fill;
mod given;
mod judged_call;

#[cfg(test)]
mod tests;

use dispatch_hook_module::digest::short_key;
use dispatch_hook_module::{Context, EventName, HookAction, Module, ModuleError, ModuleSpec, RecordType};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::followup::{FollowupRule, FollowupRuleFault, FollowupRuleProblem, FollowupRules, RULES_LIMIT_BYTES};

use fill::ChosenReminders;
use judged_call::JudgedCall;

/// Gives reminders.
pub(crate) struct MemoryActivation;

/// What can be set for the module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MemoryActivationSettings {
    /// The most characters that one call is given.
    max_chars: usize,
}

impl Default for MemoryActivationSettings {
    fn default() -> Self {
        Self { max_chars: 2_000 }
    }
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::PreToolUse, EventName::PostToolUse],
    priority: 60,
    hot_path_safe: true,
    ..ModuleSpec::named("memory-activation")
};

impl Module for MemoryActivation {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let Some(rules) = read_rules(ctx) else {
            return Ok(HookAction::none());
        };
        let settings: MemoryActivationSettings = ctx.settings();
        let mut faults = rules.faults;
        let chosen = choose(ctx, &rules.rules, settings.max_chars, &mut faults);
        Ok(action(ctx, chosen, faults))
    }
}

fn read_rules(ctx: &Context<'_>) -> Option<FollowupRules> {
    let file = ctx.paths.followup_rules_file();
    match ctx.session.read(&file, RULES_LIMIT_BYTES) {
        Some(bytes) => Some(FollowupRules::parse(&bytes)),
        None => {
            let too_large = FollowupRuleProblem::Shape(format!("the file is larger than {RULES_LIMIT_BYTES} bytes"));
            let fault = FollowupRuleFault { rule: "*".to_owned(), cause: too_large };
            ctx.session.modified_ms(&file).map(|_| FollowupRules { rules: Vec::new(), faults: vec![fault] })
        }
    }
}

/// The rules that apply now and were not given already, best first, as far as there is room and time.
fn choose<'r>(
    ctx: &Context<'_>,
    rules: &'r [FollowupRule],
    max_chars: usize,
    faults: &mut Vec<FollowupRuleFault>,
) -> ChosenReminders<'r> {
    let call = JudgedCall::of(ctx);
    let mut chosen = ChosenReminders::within(max_chars);
    for rule in rules {
        if chosen.is_full() || ctx.timers.remaining().is_zero() {
            break;
        }
        if given::is_given(ctx, rule) {
            continue;
        }
        match call.matches(rule) {
            Ok(Some(path)) => chosen.add(rule, &call.values(path)),
            Ok(None) => {}
            Err(cause) => faults.push(FollowupRuleFault { rule: rule.id.clone(), cause }),
        }
    }
    chosen
}

fn action(ctx: &Context<'_>, chosen: ChosenReminders<'_>, faults: Vec<FollowupRuleFault>) -> HookAction {
    let mut action = HookAction::none();
    let mut memory = Map::new();
    let activated: Map<String, Value> = chosen.rules().filter_map(|rule| given::pointer(ctx, rule)).collect();
    for rule in chosen.rules() {
        action = action.with_record(RecordType::MemoryActivated, json!({"rule": rule.id, "once": rule.once}));
    }
    let mut told = Map::new();
    for fault in faults {
        let digest = Value::String(short_key(&[fault.to_string().as_bytes()]));
        let known = ctx.state.get("memory", "faults").and_then(|faults| faults.get(&fault.rule));
        if known != Some(&digest) {
            action = action.with_warning(fault.to_string());
            told.insert(fault.rule, digest);
        }
    }
    for (name, pointers) in [("activated", activated), ("faults", told)] {
        if !pointers.is_empty() {
            memory.insert(name.to_owned(), pointers.into());
        }
    }
    if !memory.is_empty() {
        action = action.with_state(json!({"memory": memory}));
    }
    match chosen.text() {
        Some(text) => action.with_context("memory-activation", text),
        None => action,
    }
}
