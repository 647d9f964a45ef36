//! A module that never returns: the host gets its answer within the budget, and the run is on record.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::conformance::{PipelineWorkspace, sha256_hex};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Long enough for an engine without optimisation to start, short enough to wait for.
const BUDGET_MS: u64 = 1_000;
/// What a loaded machine may add to the budget.
const MARGIN: Duration = Duration::from_secs(6);

/// What the engine can interrupt: loops, promises that never settle, matching that explodes.
const STOPPED: [(&str, &str); 5] = [
    ("loop", "while (true) {}"),
    ("promise", "await new Promise(() => {});"),
    ("jobs", "const again = () => Promise.resolve().then(again); await again();"),
    ("regex", "/^(a+)+$/.test('a'.repeat(200) + 'b');"),
    ("parse", "const t = '['.repeat(4e6) + ']'.repeat(4e6); for (;;) { try { JSON.parse(t) } catch {} }"),
];

/// Native calls that it cannot interrupt, so that the alarm has to answer.
const STUCK: [(&str, &str); 3] = [
    ("indexOf", "'a'.repeat(8e6).indexOf('a'.repeat(4e6) + 'b');"),
    ("join", "new Array(2 ** 28).join('');"),
    ("bigint", "for (;;) (7n ** 300000n).toString();"),
];

/// Fires the event at a world with this module; the answer and how long it took.
fn run(workspace: &PipelineWorkspace, event: &str, body: &str) -> (Value, Duration) {
    let source = format!(
        "export default {{ supports: ['{event}'], hotPathSafe: true, priority: 50, async handle() {{ {body} }} }};"
    );
    workspace.source("endless", &source);
    let started = Instant::now();
    let more = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "prompt": "p"});
    (workspace.fire(event, &more), started.elapsed())
}

fn is_on_record_once(workspace: &PipelineWorkspace, event: &str, decision: &str, case: &str) {
    let runs = workspace.of_type("HOOK_RUN");
    assert_eq!(runs.len(), 1, "{case}: {runs:?}");
    let run = &runs[0];
    assert_eq!((&run["event"], &run["decision"]), (&json!(event), &json!(decision)), "{case}");
    assert!(run["hookRunId"].as_str().is_some_and(|id| id.starts_with(event)), "{case}: {run}");
    assert!(run["ms"].as_f64().is_some_and(|ms| ms > 0.0), "{case}: {run}");
}

#[test]
fn the_answer_comes_within_the_budget_and_the_run_is_on_record_once() {
    for (name, body) in STOPPED.into_iter().chain(STUCK) {
        let workspace = PipelineWorkspace::ruled_by(
            &json!({"modules": ["session", "endless"], "budgets": {"PreToolUse": BUDGET_MS}}),
        );
        let (answer, took) = run(&workspace, "PreToolUse", body);
        assert_eq!(answer, json!({"decision": "allow"}), "{name}");
        assert!(took < Duration::from_millis(BUDGET_MS) + MARGIN, "{name} took {took:?}");
        is_on_record_once(&workspace, "PreToolUse", "allow", name);
        if STUCK.iter().any(|(stuck, _)| *stuck == name) {
            assert_eq!(workspace.last_run()["data"]["outOfTime"], true, "{name}: the alarm answered");
        }
    }
}

#[test]
fn other_events_are_held_to_their_budgets_too() {
    for event in ["PostToolUse", "Stop", "UserPromptSubmit", "SessionStart"] {
        let workspace =
            PipelineWorkspace::ruled_by(&json!({"modules": ["session", "endless"], "budgets": {event: BUDGET_MS}}));
        let (answer, took) = run(&workspace, event, STUCK[0].1);
        assert_eq!(answer["decision"], "allow", "{event}");
        assert!(took < Duration::from_millis(BUDGET_MS) + MARGIN, "{event} took {took:?}");
        is_on_record_once(&workspace, event, "allow", event);
    }
}

#[test]
fn a_module_that_hangs_while_it_is_loaded_is_stopped_too() {
    for (name, body) in [STOPPED[0], STUCK[0]] {
        let workspace =
            PipelineWorkspace::ruled_by(&json!({"modules": ["session", "hang"], "budgets": {"PreToolUse": BUDGET_MS}}));
        workspace.context.write(".ai/hooks/features/hang/hook.mjs", format!("{body}\nexport default {{}};"));
        approve(&workspace, "hang");
        let started = Instant::now();
        assert_eq!(workspace.decision("ls"), "allow", "{name}");
        assert!(started.elapsed() < Duration::from_millis(BUDGET_MS) + MARGIN, "{name}");
        is_on_record_once(&workspace, "PreToolUse", "allow", name);
    }
}

/// Approves without loading, because loading is what hangs.
fn approve(workspace: &PipelineWorkspace, name: &str) {
    let source =
        std::fs::read_to_string(workspace.context.project().join(format!(".ai/hooks/features/{name}/hook.mjs")));
    workspace.context.allow_policy_changes();
    let mut child =
        workspace.context.command("dispatch").args(["trust", name]).stdout(Stdio::null()).spawn().expect("it starts");
    let file = workspace.context.home().join("trust.json");
    let wanted = sha256_hex(&source.unwrap());
    let deadline = Instant::now() + Duration::from_secs(30);
    while !std::fs::read_to_string(&file).unwrap_or_default().contains(&wanted) {
        assert!(Instant::now() < deadline, "not approved");
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_refusal_that_was_decided_before_stands() {
    let workspace = PipelineWorkspace::ruled_by(
        &json!({"modules": ["session", "graph-pretooluse", "endless"], "budgets": {"PreToolUse": 20_000}}),
    );
    let body = "for (;;) {}";
    workspace.source(
        "endless",
        &format!("export default {{ supports: ['PreToolUse'], hotPathSafe: true, handle() {{ {body} }} }};"),
    );
    workspace.script("endless", "", "for (;;) {}");
    assert_eq!(workspace.decision("rm -rf /srv/data"), "deny");
    is_on_record_once(&workspace, "PreToolUse", "deny", "deny");
}

#[test]
fn the_log_after_a_hang_goes_on_as_before() {
    let workspace =
        PipelineWorkspace::ruled_by(&json!({"modules": ["session", "endless"], "budgets": {"PreToolUse": BUDGET_MS}}));
    workspace.prompt("go");
    run(&workspace, "PreToolUse", STUCK[0].1);
    workspace.rule(&json!({"modules": ["session"]}));
    workspace.bash("ls");
    let runs = workspace.of_type("HOOK_RUN");
    assert_eq!(runs.len(), 3);
    let ids: std::collections::BTreeSet<String> = runs.iter().map(|run| run["hookRunId"].to_string()).collect();
    assert_eq!(ids.len(), 3);
    assert!(
        workspace.context.dispatch(&["events"]).status == 0 && workspace.context.dispatch(&["why", "last"]).status == 0
    );
}
