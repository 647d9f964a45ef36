//! The two channels by which a tool's input changes.

use dispatch_hook_module::{Decision, EventName, HookAction};
use serde_json::{Value, json};

use super::stand_in::{Options, StandIn, before_tool, event, fold_all, fold_with, module};
use crate::pipeline::{Folded, Stamps};

fn rewriting(name: &'static str, input: Value) -> StandIn {
    module(name, move |_| HookAction { updated_input: Some(input.clone()), ..HookAction::none() })
}

fn stamping(name: &'static str) -> StandIn {
    module(name, |_| HookAction {
        input_metadata: json!({"_hookSessionId": "s", "command": "evil"}).as_object().cloned(),
        ..HookAction::none()
    })
}

fn stamped(modules: &[&StandIn]) -> Folded {
    fold_with(&before_tool(), modules, &Options { stamps: Some(Stamps::InInput), ..Options::default() })
}

#[test]
fn only_the_rewrite_owner_rewrites() {
    let other = rewriting("other", json!({"command": "pwd"}));
    let folded = fold_all(&before_tool(), &[&other]);
    assert_eq!(folded.updated_input, None);
    assert_eq!(folded.warnings.len(), 1);
    let owner = rewriting("owner", json!({"command": "pwd"}));
    let folded = fold_all(&before_tool(), &[&owner, &other]);
    assert_eq!(folded.updated_input, Some(json!({"command": "pwd"})));
    assert_eq!(folded.rewritten_by.as_deref(), Some("owner"));
}

#[test]
fn guards_that_ran_before_judge_the_rewritten_input_again() {
    let guard = module("guard", |ctx| match ctx.event.tool_input["command"].as_str() {
        Some("rm -rf /") => HookAction::deny("UB01", "no bound"),
        _ => HookAction::none().with_context("k", "seen").with_state(json!({"x": {"y": 1}})),
    });
    let owner = rewriting("owner", json!({"command": "rm -rf /"}));
    let after = module("after", |_| HookAction::none());
    let folded = fold_all(&before_tool(), &[&guard, &owner, &after]);
    assert_eq!((folded.decision, folded.code.as_deref()), (Decision::Deny, Some("UB01")));
    assert!(folded.reason.is_some_and(|reason| reason.contains("owner")));
    assert_eq!((guard.asked.get(), after.asked.get()), (2, 0));
    assert_eq!(folded.context.len(), 1, "what the guard said is said once");
    assert_eq!(folded.patches.len(), 1);
}

#[test]
fn a_refused_rewrite_does_not_leave() {
    let owner = rewriting("owner", json!({"command": "pwd"}));
    let deny = module("deny", |_| HookAction::deny("D", "no"));
    assert_eq!(fold_all(&before_tool(), &[&owner, &deny]).answer().updated_input, None);
}

#[test]
fn modules_after_the_owner_see_the_rewritten_call() {
    let owner = rewriting("owner", json!({"command": "rm x"}));
    let after = module("after", |ctx| {
        let writes = ctx.call.is_some_and(|call| call.paths.iter().any(|path| path.path == "/repo/x"));
        if writes { HookAction::ask("A", "saw it") } else { HookAction::none() }
    });
    let folded = fold_all(&before_tool(), &[&owner, &after]);
    assert_eq!(folded.decision, Decision::Ask);
    assert_eq!(folded.answer().updated_input, Some(json!({"command": "rm x"})));
}

#[test]
fn a_rewrite_that_changes_nothing_is_none() {
    let owner = rewriting("owner", json!({"command": "ls"}));
    let guard = module("guard", |_| HookAction::none());
    let folded = fold_all(&before_tool(), &[&guard, &owner]);
    assert_eq!((folded.updated_input, folded.rewritten_by, guard.asked.get()), (None, None, 1));
}

#[test]
fn only_tool_calls_are_rewritten() {
    let owner = rewriting("owner", json!({"command": "pwd"}));
    let folded = fold_all(&event(EventName::PostToolUse), &[&owner]);
    assert_eq!(folded.updated_input, None);
    assert_eq!(folded.warnings.len(), 1);
}

#[test]
fn only_session_stamps_and_stamps_never_change_the_call() {
    let session = stamping("session");
    let folded = stamped(&[&session]);
    assert_eq!(folded.updated_input, Some(json!({"command": "ls", "_hookSessionId": "s"})));
    let other = stamping("other");
    let folded = stamped(&[&other]);
    assert_eq!((folded.updated_input, folded.warnings.len()), (None, 1));
}

#[test]
fn stamps_stay_in_the_log_unless_they_are_wanted() {
    let session = stamping("session");
    let folded = fold_all(&before_tool(), &[&session]);
    assert_eq!(folded.updated_input, None);
    assert_eq!(Value::Object(folded.metadata), json!({"_hookSessionId": "s"}));
}

#[test]
fn stamps_are_merged_first_and_rewrites_over_them() {
    let session = stamping("session");
    let owner = rewriting("owner", json!({"command": "pwd", "_hookSessionId": "mine"}));
    let folded = stamped(&[&session, &owner]);
    assert_eq!(folded.updated_input, Some(json!({"command": "pwd", "_hookSessionId": "mine"})));
}
