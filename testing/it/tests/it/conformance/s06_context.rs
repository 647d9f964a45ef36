//! Section 6: what a module is told, and that it can change nothing but by its answer.

use super::workspace::{PipelineWorkspace, SID};
use dispatch_kernel::services::schema::check;
use serde_json::{Value, json};

/// What a script sees of its context, plain data and the results of its functions.
fn seen(workspace: &PipelineWorkspace) -> Value {
    workspace.script(
        "mirror",
        "",
        "const { paths, timers } = ctx;
         return { emitEvents: [{ type: 'SEEN', data: { ctx: JSON.parse(JSON.stringify(ctx)),
           calls: { featureRoot: paths.featureRoot('x'), featureLogs: paths.featureLogs('x'),
             featureOutput: paths.featureOutput('x'), relRef: paths.relRef(paths.stateFile),
             repoRelative: paths.repoRelative(paths.stateFile), outside: paths.repoRelative('/etc/passwd'),
             elapsed: typeof timers.elapsed() } } }] };",
    );
    workspace.bash("ls");
    workspace.of_type("SEEN").pop().expect("the mirror answered")["data"].clone()
}

#[test]
fn s06_every_property_is_there_and_fits_the_schema() {
    let workspace = PipelineWorkspace::with(&["session", "mirror"]);
    workspace.configure(&json!({"mirror": {"knob": 7}}));
    let ctx = seen(&workspace)["ctx"].clone();
    for name in ["ids", "event", "paths", "state", "config", "feature", "cap", "timers"] {
        assert!(ctx[name].is_object(), "{name} in {ctx}");
    }
    let schema = workspace.context.dispatch(&["schema", "ctx"]).json();
    assert_eq!(check(&schema, &ctx), [], "{ctx}");
}

#[test]
fn s06_ids_are_those_of_the_records() {
    let workspace = PipelineWorkspace::with(&["session", "mirror"]);
    let ctx = seen(&workspace)["ctx"].clone();
    let run = workspace.last_run();
    for id in ["sessionId", "workId", "agentId", "turnId", "hookRunId"] {
        assert_eq!(ctx["ids"][id], run[id], "{id}");
    }
}

#[test]
fn s06_the_event_is_normalised() {
    let workspace = PipelineWorkspace::with(&["session", "mirror"]);
    let event = seen(&workspace)["ctx"]["event"].clone();
    assert_eq!(
        (&event["name"], &event["toolName"], &event["kind"]),
        (&json!("PreToolUse"), &json!("Bash"), &json!("execute"))
    );
    assert_eq!(event["toolInput"], json!({"command": "ls"}));
    assert_eq!(event["raw"]["session_id"], "abc");
}

#[test]
fn s06_paths_are_resolved_for_the_module() {
    let workspace = PipelineWorkspace::with(&["session", "mirror"]);
    let seen = seen(&workspace);
    let root = workspace.context.project().display().to_string();
    let paths = &seen["ctx"]["paths"];
    for (name, place) in [
        ("repoRoot", ""),
        ("hooksRoot", "/.ai/hooks"),
        ("workRoot", "/.ai/tmp"),
        ("sessionRoot", "/.ai/tmp/ba7816bf"),
        ("stateFile", "/.ai/tmp/ba7816bf/state.json"),
        ("eventsFile", "/.ai/tmp/ba7816bf/events.jsonl"),
        ("registryFile", "/.ai/tmp/ba7816bf/registry.jsonl"),
        ("configFile", "/.ai/hooks/config.json"),
        ("policyFile", "/.ai/hooks/rlm-policy.json"),
        ("followupRulesFile", "/.ai/hooks/followup-rules.json"),
        ("manifestFile", "/.ai/hooks/dispatch.manifest.json"),
        ("schemaDir", "/.ai/hooks/schema"),
    ] {
        assert_eq!(paths[name], format!("{root}{place}"), "{name}");
    }
    let calls = &seen["calls"];
    for (name, place) in [("featureRoot", ""), ("featureLogs", "/logs"), ("featureOutput", "/output")] {
        assert_eq!(calls[name], format!("{root}/.ai/tmp/{SID}/x{place}"));
    }
    assert_eq!((&calls["relRef"], &calls["outside"]), (&json!("state.json"), &Value::Null));
    assert_eq!(calls["repoRelative"], format!(".ai/tmp/{SID}/state.json"));
}

#[test]
fn s06_configuration_and_folders_are_the_modules_own() {
    let workspace = PipelineWorkspace::with(&["session", "mirror"]);
    workspace.configure(&json!({"mirror": {"knob": 7}, "other": {"secret": 1}}));
    let ctx = seen(&workspace)["ctx"].clone();
    assert_eq!(ctx["config"], json!({"knob": 7}));
    let root = workspace.session().join("mirror").display().to_string();
    assert_eq!(
        ctx["feature"],
        json!({"root": root, "logs": format!("{root}/logs"), "output": format!("{root}/output")})
    );
}

#[test]
fn s06_capabilities_and_timers_are_there() {
    let workspace =
        PipelineWorkspace::ruled_by(&json!({"modules": ["session", "mirror"], "budgets": {"PreToolUse": 40_000}}));
    let seen = seen(&workspace);
    let (cap, timers) = (&seen["ctx"]["cap"]["neo4j"], &seen["ctx"]["timers"]);
    assert_eq!((&cap["enabled"], &cap["reachable"]), (&json!(false), &json!(false)));
    assert_eq!(timers["budgetMs"], 40_000);
    assert!(timers["startMs"].as_i64().unwrap() > 1_600_000_000_000);
    assert_eq!(seen["calls"]["elapsed"], "number");
}

#[test]
fn s06_the_log_function_writes_to_the_modules_debug_log() {
    let workspace = PipelineWorkspace::with(&["session", "one", "two"]);
    workspace.script("one", "", "ctx.log('info', 'from one'); return undefined;");
    workspace.script("two", "", "ctx.log('error', 'from two', {a: [1]}); return null;");
    workspace.bash("ls");
    let (one, two) = (workspace.text("one/logs/debug.log"), workspace.text("two/logs/debug.log"));
    assert!(one.contains("info from one") && !one.contains("two"), "{one}");
    assert!(two.contains("error from two") && two.contains("[1]"), "{two}");
    let run = workspace.last_run()["hookRunId"].as_str().unwrap().to_owned();
    assert!(one.contains(&run), "the line names its run");
}

#[test]
fn s06_the_state_is_read_only_while_modules_run() {
    let workspace = PipelineWorkspace::with(&["session", "vandal", "witness"]);
    workspace.prompt("go");
    workspace.script(
        "vandal",
        "priority: 10,",
        "ctx.state.core.phase = 'COMPLETE'; ctx.ids.workId = 'w999'; ctx.config.x = 1; ctx.event.toolName = 'X';",
    );
    workspace.script(
        "witness",
        "priority: 20,",
        "return { emitEvents: [{type: 'SEEN', data: {phase: ctx.state.core.phase, work: ctx.ids.workId,
            config: ctx.config, tool: ctx.event.toolName}}] };",
    );
    workspace.bash("ls");
    let seen = workspace.of_type("SEEN").pop().unwrap();
    assert_eq!(seen["data"], json!({"phase": "PLANNING", "work": "w001", "config": {}, "tool": "Bash"}));
    assert_eq!(workspace.state()["core"]["phase"], "PLANNING");
}
