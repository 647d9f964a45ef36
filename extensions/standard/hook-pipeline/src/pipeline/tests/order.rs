//! Which modules run, in which order, for how long.

use dispatch_hook_module::{EventName, HookAction, Module, RecordType};

use super::stand_in::{Options, before_tool, fold_all, fold_with, module};
use crate::manifest::{ModuleEntry, PipelineManifest};
use crate::pipeline::select;

fn names(manifest: &PipelineManifest, modules: &[&dyn Module], event: &EventName) -> Vec<String> {
    select(manifest, modules, event).slots.iter().map(|slot| slot.spec.name.to_owned()).collect()
}

fn manifest(entries: &[&str]) -> PipelineManifest {
    PipelineManifest {
        modules: entries.iter().map(|name| ModuleEntry::enabled(*name)).collect(),
        ..PipelineManifest::default()
    }
}

#[test]
fn modules_run_by_priority_and_then_in_the_order_of_the_manifest() {
    let mut late = module("late", |_| HookAction::none());
    late.priority = 10;
    let (one, two) = (module("one", |_| HookAction::none()), module("two", |_| HookAction::none()));
    let all: [&dyn Module; 3] = [&late, &one, &two];
    assert_eq!(names(&manifest(&["late", "two", "one"]), &all, &EventName::Stop), ["two", "one", "late"]);
}

#[test]
fn hot_path_safe_gates_pre_tool_use_and_nothing_else() {
    let mut slow = module("slow", |_| HookAction::none());
    slow.hot_path_safe = false;
    let all: [&dyn Module; 1] = [&slow];
    for event in EventName::KNOWN {
        let expected = if event == EventName::PreToolUse { 0 } else { 1 };
        assert_eq!(names(&manifest(&["slow"]), &all, &event).len(), expected, "{event}");
    }
}

#[test]
fn a_module_that_does_not_support_the_event_is_skipped() {
    let mut only_stop = module("only-stop", |_| HookAction::none());
    only_stop.events = vec![EventName::Stop];
    let all: [&dyn Module; 1] = [&only_stop];
    assert_eq!(names(&manifest(&["only-stop"]), &all, &EventName::PreToolUse), Vec::<String>::new());
    assert_eq!(names(&manifest(&["only-stop"]), &all, &EventName::Stop), ["only-stop"]);
}

#[test]
fn only_enabled_modules_run_and_the_manifest_overrides_their_flags() {
    let (on, off) = (module("on", |_| HookAction::none()), module("off", |_| HookAction::none()));
    let all: [&dyn Module; 2] = [&on, &off];
    let mut changed = manifest(&["on", "off", "ghost"]);
    changed.modules[0].priority = Some(7);
    changed.modules[0].critical = Some(true);
    changed.modules[1].enabled = false;
    let selection = select(&changed, &all, &EventName::PreToolUse);
    assert_eq!(selection.slots.len(), 1);
    assert_eq!((selection.slots[0].spec.priority, selection.slots[0].spec.critical), (7, true));
    assert_eq!(selection.missing, ["ghost"]);
    changed.modules[0].hot_path_safe = Some(false);
    assert!(select(&changed, &all, &EventName::PreToolUse).slots.is_empty());
}

#[test]
fn an_exceeded_budget_stops_the_modules_and_allows() {
    let first = module("first", |_| HookAction::none());
    let second = module("second", |_| HookAction::deny("X", "too late"));
    // The clock is asked before each module and around it: the third reading is over the budget.
    let folded = fold_with(&before_tool(), &[&first, &second], &Options { tick_ms: 100, ..Options::default() });
    assert_eq!(second.asked.get(), 0);
    assert_eq!(folded.decision, dispatch_hook_module::Decision::Allow);
    assert_eq!(folded.out_of_time_at.as_deref(), Some("second"));
    assert_eq!(folded.records.last().map(|said| said.what.kind.clone()), Some(RecordType::BudgetExceeded));
}

#[test]
fn a_deny_that_came_in_time_stands_when_time_runs_out() {
    let first = module("first", |_| HookAction::deny("X", "no"));
    let second = module("second", |_| HookAction::none());
    let folded = fold_with(&before_tool(), &[&first, &second], &Options { tick_ms: 120, ..Options::default() });
    assert_eq!(folded.decision, dispatch_hook_module::Decision::Deny);
}

#[test]
fn the_same_values_give_the_same_result() {
    let modules = [
        module("a", |_| {
            HookAction::none().with_context("k", "v").with_record(RecordType::Warning, serde_json::json!(1))
        }),
        module("b", |_| HookAction::ask("B", "sure?")),
    ];
    let modules: Vec<_> = modules.iter().collect();
    let results: Vec<_> = (0..20).map(|_| fold_all(&before_tool(), &modules)).collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}
