//! Section 8: the order of modules, the one decision, and the time it may take.

use dispatch_hook_dialects::Hints;
use dispatch_hook_module::{Clock, Context, Decision, Effects, EventName, HookAction, Module, ModuleError, ModuleSpec};

use super::workspace::PipelineWorkspace;
use ext_hook_pipeline::contract::{Invocation, Outcome, PipelineManifest, Unwatched, run};
use serde_json::{Value, json};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Modules that decide as told, in the order of their names.
fn deciding(decisions: &[&str]) -> PipelineWorkspace {
    let names: Vec<String> = (0..decisions.len()).map(|number| format!("m{number}")).collect();
    let mut modules = vec!["session".to_owned()];
    modules.extend(names.iter().rev().cloned());
    let workspace = PipelineWorkspace::ruled_by(&json!({ "modules": modules }));
    for (number, decision) in decisions.iter().enumerate() {
        let flags = format!("priority: {},", 10 + number);
        workspace.script(
            &names[number],
            &flags,
            &format!("return {{ decision: '{decision}', denyReason: 'by m{number}' }};"),
        );
    }
    workspace
}

#[test]
fn s08_modules_run_by_priority_and_then_by_their_place_in_the_manifest() {
    let workspace = PipelineWorkspace::with(&["b", "session", "a"]);
    workspace.script("a", "priority: 0,", "");
    workspace.script("b", "priority: 0,", "");
    workspace.bash("ls");
    assert_eq!(workspace.last_modules(), ["b", "session", "a"]);
}

#[test]
fn s08_everything_is_committed_after_the_decision_and_before_the_answer() {
    let workspace = deciding(&["allow", "deny", "allow"]);
    assert_eq!(workspace.decision("ls"), "deny");
    let run = workspace.last_run();
    assert_eq!(
        (&run["decision"], &run["data"]["reason"], &run["data"]["decidedBy"]),
        (&json!("deny"), &json!("by m1"), &json!("m1"))
    );
    assert_eq!(workspace.of_type("TOOL_CALL").len(), 1, "what earlier modules said is kept");
    assert_eq!(workspace.state()["core"]["phase"], "UNINITIALIZED");
}

#[test]
fn s08_1_the_strictest_objection_wins_and_a_denial_stops_the_rest() {
    for (decisions, decided, ran) in [
        (&["allow", "allow", "allow"][..], "allow", 3),
        (&["deny", "ask", "allow"], "deny", 1),
        (&["ask", "deny", "allow"], "deny", 2),
        (&["allow", "ask", "deny"], "deny", 3),
        (&["allow", "deny", "ask"], "deny", 2),
    ] {
        let workspace = deciding(decisions);
        assert_eq!(workspace.decision("ls"), decided, "{decisions:?}");
        assert_eq!(workspace.last_modules().len(), 1 + ran, "{decisions:?}");
    }
}

#[test]
fn s08_1_deny_is_stronger_than_ask_is_stronger_than_allow() {
    assert!(Decision::Deny > Decision::Ask && Decision::Ask > Decision::Allow);
}

#[test]
fn s08_2_the_budgets_are_those_of_the_contract_and_configurable() {
    let (manifest, problems) = PipelineManifest::parse(b"{}");
    assert!(problems.is_empty());
    for (event, budget_ms) in [
        ("PreToolUse", 300),
        ("PostToolUse", 500),
        ("SessionStart", 5_000),
        ("Stop", 5_000),
        ("UserPromptSubmit", 1_000),
        ("PreCompact", 1_000),
        ("SubagentStart", 1_000),
        ("SubagentStop", 1_000),
    ] {
        let event = EventName::known(event).unwrap();
        assert_eq!(manifest.budget_ms(&event), budget_ms, "{event}");
        let text = json!({"budgets": {event.as_str(): 1_234}}).to_string();
        assert_eq!(PipelineManifest::parse(text.as_bytes()).0.budget_ms(&event), 1_234, "{event}");
    }
}

/// A module that takes as long as it is told, by a clock of its own.
struct SlowModule<'a>(&'static str, u64, &'a ModuleClock);

/// A clock that moves only when a module says so.
struct ModuleClock(Cell<Duration>);

impl Clock for ModuleClock {
    fn unix_ms(&self) -> i64 {
        1_800_000_000_000
    }

    fn elapsed(&self) -> Duration {
        self.0.get()
    }
}

impl Module for SlowModule<'_> {
    fn spec(&self) -> ModuleSpec<'_> {
        ModuleSpec {
            events: &EventName::KNOWN,
            priority: 10,
            hot_path_safe: true,
            critical: true,
            ..ModuleSpec::named(self.0)
        }
    }

    fn handle(&self, _: &Context<'_>) -> Result<HookAction, ModuleError> {
        let clock = &self.2.0;
        clock.set(clock.get() + Duration::from_millis(self.1));
        let denies = self.0 == "denies";
        Ok(if denies { HookAction::deny("X", "the test says no") } else { HookAction::none() })
    }
}

/// What becomes of a tool call when these modules run, each for so many milliseconds.
fn timed(workspace: &PipelineWorkspace, modules: &[(&'static str, u64)]) -> Outcome {
    let clock = ModuleClock(Cell::new(Duration::ZERO));
    let modules: Vec<SlowModule<'_>> = modules.iter().map(|(name, ms)| SlowModule(name, *ms, &clock)).collect();
    let modules: Vec<&dyn Module> = modules.iter().map(|module| module as &dyn Module).collect();
    let names: Vec<&str> = modules.iter().map(|module| module.spec().name).collect();
    let manifest = json!({ "modules": names }).to_string();
    let payload = workspace.payload("PreToolUse", &json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}));
    run(&Invocation {
        host: Some("native"),
        event: Some("PreToolUse"),
        stdin: payload.to_string().as_bytes(),
        hints: &Hints::default(),
        home: None,
        user: None,
        trust: ext_hook_pipeline::contract::RuleTrust::Everything,
        root: Some(&workspace.context.project()),
        manifest: Some(manifest.as_bytes()),
        config: None,
        modules: &modules,
        scripts: None,
        clock: &clock,
        watch: &Unwatched,
        effects: Effects::Commit,
    })
}

#[test]
fn s08_2_an_exceeded_budget_stops_the_iteration_and_fails_open() {
    let workspace = PipelineWorkspace::with(&[]);
    let outcome = timed(&workspace, &[("quick", 100), ("slow", 201), ("denies", 0)]);
    assert_eq!(outcome.reply.stdout, b"{\"decision\":\"allow\"}\n");
    assert_eq!(workspace.last_modules(), ["quick", "slow"]);
    let exceeded = workspace.of_type("BUDGET_EXCEEDED").pop().unwrap();
    assert_eq!((&exceeded["data"]["before"], &exceeded["data"]["budgetMs"]), (&json!("denies"), &json!(300)));
    assert_eq!(workspace.last_run()["data"]["outOfTimeAt"], "denies", "what there is, is kept");
    timed(&workspace, &[("quick", 100), ("slow", 200), ("denies", 0)]);
    assert_eq!(workspace.last_run()["decision"], "deny", "a budget that is just used up is not exceeded");
}

#[test]
fn s08_2_a_deny_stands_though_the_budget_is_exceeded() {
    let workspace = PipelineWorkspace::with(&[]);
    let outcome = timed(&workspace, &[("quick", 100), ("denies", 900), ("slow", 0)]);
    assert!(String::from_utf8_lossy(&outcome.reply.stdout).starts_with("{\"decision\":\"deny\""), "{outcome:?}");
    assert_eq!(workspace.last_run()["decision"], "deny");
}

#[test]
fn s08_2_a_script_is_stopped_within_the_budget_of_its_event() {
    for event in ["PreToolUse", "PostToolUse", "Stop", "UserPromptSubmit"] {
        let workspace =
            PipelineWorkspace::ruled_by(&json!({"modules": ["session", "spender"], "budgets": {event: 900}}));
        let source =
            format!("export default {{ supports: ['{event}'], hotPathSafe: true, handle() {{ for (;;) {{}} }} }};");
        workspace.source("spender", &source);
        let more = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "prompt": "p"});
        let started = Instant::now();
        let answer = workspace.fire(event, &more);
        assert!(started.elapsed() < Duration::from_secs(20), "{event} took {:?}", started.elapsed());
        assert_eq!(answer["decision"], "allow", "{event}");
        let run = workspace.last_run();
        assert_eq!((&run["event"], &run["decision"]), (&json!(event), &json!("allow")), "{event}");
    }
}

#[test]
fn s08_exactly_one_run_is_on_record_for_each_invocation() {
    let workspace = deciding(&["allow", "ask"]);
    for number in 1..=5 {
        workspace.bash("ls");
        assert_eq!(workspace.of_type("HOOK_RUN").len(), number);
    }
    let required = |run: &Value| ["event", "hookRunId", "decision", "ms"].iter().all(|key| !run[*key].is_null());
    assert!(workspace.of_type("HOOK_RUN").iter().all(required));
}
