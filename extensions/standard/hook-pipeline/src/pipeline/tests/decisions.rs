//! How one decision comes of many, and what failures do to it.

use dispatch_hook_module::{Decision, EmittedRecord, EventName, HookAction, ModuleError, RecordType, Unattended};
use proptest::prelude::*;
use serde_json::json;

use super::stand_in::{Options, StandIn, before_tool, event, failing, fold_all, fold_with, module};

fn kinds(folded: &crate::pipeline::Folded) -> Vec<RecordType> {
    folded.records.iter().map(|said| said.what.kind.clone()).collect()
}

#[test]
fn the_first_deny_wins_and_stops_the_pipeline() {
    let deny = module("deny", |_| HookAction::deny("D1", "no"));
    let after = module("after", |_| HookAction::deny("D2", "never"));
    let folded = fold_all(&before_tool(), &[&deny, &after]);
    assert_eq!((folded.decision, folded.code.as_deref()), (Decision::Deny, Some("D1")));
    assert_eq!(folded.decided_by.as_deref(), Some("deny"));
    assert_eq!(after.asked.get(), 0);
}

#[test]
fn a_question_does_not_end_the_run_and_a_later_denial_wins() {
    let ask = module("ask", |_| HookAction::ask("A1", "sure?"));
    let again = module("again", |_| HookAction::ask("A2", "really?"));
    let deny = module("deny", |_| HookAction::deny("D1", "no"));
    let folded = fold_all(&before_tool(), &[&ask, &again]);
    assert_eq!((folded.decision, folded.code.as_deref()), (Decision::Ask, Some("A1")));
    let folded = fold_all(&before_tool(), &[&ask, &again, &deny]);
    assert_eq!((folded.decision, folded.code.as_deref()), (Decision::Deny, Some("D1")));
    assert_eq!(folded.decided_by.as_deref(), Some("deny"));
    let codes: Vec<_> = folded.findings.iter().map(|said| said.what.code.as_deref().unwrap_or_default()).collect();
    assert_eq!(codes, ["A1", "A2", "D1"]);
}

#[test]
fn no_opinion_is_no_objection_and_answers_no_prompt() {
    let quiet = module("quiet", |_| HookAction::none());
    let allow = module("allow", |_| HookAction { decision: Some(Decision::Allow), ..HookAction::none() });
    let folded = fold_all(&before_tool(), &[&quiet, &allow]);
    assert_eq!((folded.answer().decision, folded.answer().grant), (Decision::Allow, false));
    let grant = module("grant", |_| HookAction { grant: true, ..HookAction::none() });
    let granted = fold_all(&before_tool(), &[&quiet, &grant]).answer();
    assert_eq!((granted.decision, granted.grant), (Decision::Allow, true));
    let deny = module("deny", |_| HookAction::deny("D", "no"));
    let denied = fold_all(&before_tool(), &[&grant, &deny]).answer();
    assert_eq!((denied.decision, denied.grant), (Decision::Deny, false));
}

#[test]
fn a_failure_of_a_critical_module_denies_a_tool_call_and_stops() {
    let broken = failing("broken", |_| Err(ModuleError::failed("boom"))).critical();
    let after = module("after", |_| HookAction::none());
    let folded = fold_all(&before_tool(), &[&broken, &after]);
    assert_eq!(folded.decision, Decision::Deny);
    assert_eq!(kinds(&folded), [RecordType::ErrorModuleCritical]);
    assert_eq!(after.asked.get(), 0);
    assert_eq!(folded.runs[0].decision, None);
}

#[test]
fn a_failure_of_a_critical_module_blocks_no_other_event() {
    for name in EventName::KNOWN.into_iter().filter(|name| *name != EventName::PreToolUse) {
        let broken = failing("broken", |_| Err(ModuleError::failed("boom"))).critical();
        let folded = fold_all(&event(name.clone()), &[&broken]);
        assert_eq!(folded.decision, Decision::Allow, "{name}");
        assert_eq!(kinds(&folded), [RecordType::ErrorModuleCritical]);
    }
}

#[test]
fn a_failure_of_another_module_is_logged_and_skipped() {
    let broken = failing("broken", |_| Err(ModuleError::failed("boom")));
    let panics = failing("panics", |_| panic!("oh no"));
    let after = module("after", |_| HookAction::none().with_context("k", "still here"));
    let folded = fold_all(&before_tool(), &[&broken, &panics, &after]);
    assert_eq!(folded.decision, Decision::Allow);
    assert_eq!(kinds(&folded), [RecordType::ErrorModule, RecordType::ErrorModule]);
    assert!(folded.records[1].what.data["error"].as_str().is_some_and(|text| text.contains("oh no")));
    assert_eq!(folded.context.len(), 1);
}

#[test]
fn a_panic_of_a_critical_module_denies() {
    let panics = failing("panics", |_| panic!("oh no")).critical();
    assert_eq!(fold_all(&before_tool(), &[&panics]).decision, Decision::Deny);
}

#[test]
fn a_deny_blocks_where_an_event_can_be_blocked_and_is_context_elsewhere() {
    let table = [
        (EventName::PreToolUse, Decision::Deny),
        (EventName::UserPromptSubmit, Decision::Deny),
        (EventName::PostToolUse, Decision::Deny),
        (EventName::Stop, Decision::Deny),
        (EventName::SubagentStop, Decision::Deny),
        (EventName::SessionStart, Decision::Allow),
        (EventName::PreCompact, Decision::Allow),
        (EventName::SubagentStart, Decision::Allow),
    ];
    for (name, expected) in table {
        let deny = module("deny", |_| HookAction::deny("D", "because"));
        let folded = fold_all(&event(name.clone()), &[&deny]);
        assert_eq!(folded.decision, expected, "{name}");
        if expected == Decision::Allow {
            assert_eq!(folded.answer().context, ["because"], "{name}");
            assert_eq!(folded.warnings.len(), 1);
        }
    }
}

#[test]
fn a_stop_that_a_stop_hook_caused_is_never_blocked() {
    for name in [EventName::Stop, EventName::SubagentStop] {
        let mut stop = event(name);
        stop.stop_hook_active = true;
        let deny = module("deny", |_| HookAction::deny("D", "go on working"));
        let folded = fold_all(&stop, &[&deny]);
        assert_eq!(folded.decision, Decision::Allow);
        assert!(folded.answer().context.is_empty());
    }
}

#[test]
fn asking_counts_on_tool_calls_only() {
    for name in EventName::KNOWN {
        let ask = module("ask", |_| HookAction::ask("A", "sure?"));
        let expected = if name == EventName::PreToolUse { Decision::Ask } else { Decision::Allow };
        assert_eq!(fold_all(&event(name.clone()), &[&ask]).decision, expected, "{name}");
    }
}

#[test]
fn unattended_turns_a_question_into_its_answer() {
    for (unattended, expected) in [(Unattended::Deny, Decision::Deny), (Unattended::Allow, Decision::Allow)] {
        let ask = module("ask", |_| HookAction::ask("A", "sure?"));
        let after = module("after", |_| HookAction::none());
        let options = Options { unattended: Some(unattended), ..Options::default() };
        let folded = fold_with(&before_tool(), &[&ask, &after], &options);
        assert_eq!(folded.decision, expected);
        assert_eq!(after.asked.get(), u32::from(expected == Decision::Allow), "what is allowed goes on to the next");
        assert_eq!(folded.warnings.len(), 1);
    }
}

#[test]
fn everything_before_a_deny_is_kept() {
    let first = module("first", |_| {
        HookAction::none()
            .with_record(RecordType::ToolCall, json!({"n": 1}))
            .with_state(json!({"plan": {"hash": "x"}}))
            .with_context("k", "note")
            .with_warning("careful")
    });
    let deny = module("deny", |_| HookAction::deny("D", "no"));
    let folded = fold_all(&before_tool(), &[&first, &deny]);
    assert_eq!((folded.records.len(), folded.patches.len(), folded.warnings.len()), (1, 1, 1));
    assert_eq!(folded.answer().context, ["note"]);
}

#[test]
fn a_module_cannot_write_the_record_of_the_run() {
    let forger = module("forger", |_| HookAction {
        emit_events: vec![EmittedRecord { kind: RecordType::HookRun, data: json!({"decision": "allow"}) }],
        ..HookAction::none()
    });
    let folded = fold_all(&before_tool(), &[&forger]);
    assert!(folded.records.is_empty());
    assert_eq!(folded.warnings.len(), 1);
}

fn decided(index: usize, decision: u8) -> StandIn {
    const NAMES: [&str; 6] = ["m0", "m1", "m2", "m3", "m4", "m5"];
    module(NAMES[index], move |_| match decision {
        0 => HookAction::none(),
        1 => HookAction::ask("A", "ask"),
        _ => HookAction::deny("D", "deny"),
    })
}

proptest! {
    #[test]
    fn the_strictest_objection_decides_and_nobody_after_a_denial_is_asked(choices in prop::collection::vec(0_u8..3, 0..6)) {
        let modules: Vec<StandIn> = choices.iter().enumerate().map(|(index, choice)| decided(index, *choice)).collect();
        let folded = fold_all(&before_tool(), &modules.iter().collect::<Vec<_>>());
        let expected = match choices.iter().max() {
            None | Some(0) => Decision::Allow,
            Some(1) => Decision::Ask,
            Some(_) => Decision::Deny,
        };
        prop_assert_eq!(folded.decision, expected);
        let asked: u32 = modules.iter().map(|module| module.asked.get()).sum();
        let denial = choices.iter().position(|choice| *choice == 2);
        prop_assert_eq!(asked as usize, denial.map_or(choices.len(), |index| index + 1));
    }
}

#[test]
fn messages_are_joined_and_the_first_halt_counts() {
    let say = |text: &'static str| {
        module(text, move |_| HookAction {
            system_message: Some(text.to_owned()),
            halt: Some(text.to_owned()),
            ..HookAction::none()
        })
    };
    let answer = fold_all(&before_tool(), &[&say("one"), &say("two")]).answer();
    assert_eq!((answer.system_message.as_deref(), answer.halt.as_deref()), (Some("one\ntwo"), Some("one")));
}

#[test]
fn only_a_tools_result_is_replaced_and_only_once() {
    let replace = |name: &'static str| {
        module(name, move |_| HookAction { updated_output: Some(name.into()), ..HookAction::none() })
    };
    let mut after = before_tool();
    after.name = EventName::PostToolUse;
    let folded = fold_all(&after, &[&replace("first"), &replace("second")]);
    assert_eq!(folded.answer().updated_output, Some("first".into()));
    assert_eq!(folded.warnings.len(), 1);
    let before = fold_all(&before_tool(), &[&replace("first")]);
    assert_eq!((before.answer().updated_output, before.warnings.len()), (None, 1));
}
