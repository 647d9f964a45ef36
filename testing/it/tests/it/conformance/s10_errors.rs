//! Section 10: what a module does wrong stays with it.

use super::workspace::PipelineWorkspace;
use ext_hook_pipeline::contract::native_modules;
use serde_json::{Value, json};

fn failing(flags: &str, body: &str) -> PipelineWorkspace {
    let workspace = PipelineWorkspace::with(&["session", "broken", "after"]);
    workspace.script("broken", &format!("priority: 10, {flags}"), body);
    workspace.script("after", "priority: 20,", "return { additionalContext: [{key: 'k', value: 'still here'}] };");
    workspace
}

#[test]
fn s10_a_failing_module_is_skipped_and_the_rest_runs() {
    let workspace = failing("", "ctx.log('info', 'before'); throw new TypeError('out of order');");
    let answer = workspace.bash("ls");
    assert_eq!(answer, json!({"decision": "allow", "additionalContext": "still here"}));
    let error = workspace.of_type("ERROR_MODULE").pop().unwrap();
    assert_eq!((&error["module"], &error["data"]["event"]), (&json!("broken"), &json!("PreToolUse")));
    assert!(error["data"]["error"].as_str().unwrap().contains("out of order"), "{error}");
    assert_eq!(error["data"]["stackHash"].as_str().map(str::len), Some(16));
}

#[test]
fn s10_a_failing_critical_module_denies_and_stops() {
    let workspace = failing("critical: true,", "throw new Error('out of order');");
    let answer = workspace.bash("ls");
    assert_eq!(answer["decision"], "deny");
    assert_eq!(workspace.last_modules(), ["session", "broken"]);
    assert_eq!(workspace.of_type("ERROR_MODULE_CRITICAL").len(), 1);
    assert_eq!(workspace.last_run()["data"]["code"], "ERROR_MODULE_CRITICAL");
}

#[test]
fn s10_only_a_tool_call_is_denied_by_a_failure() {
    let workspace = PipelineWorkspace::with(&["session", "broken"]);
    workspace.source(
        "broken",
        "export default { supports: ['Stop', 'UserPromptSubmit', 'PostToolUse'], critical: true,
           handle() { throw new Error('x'); } };",
    );
    for event in ["Stop", "UserPromptSubmit", "PostToolUse"] {
        assert_eq!(workspace.fire(event, &json!({"prompt": "p"}))["decision"], "allow", "{event}");
    }
    assert_eq!(workspace.of_type("ERROR_MODULE_CRITICAL").len(), 3);
}

#[test]
fn s10_every_way_to_fail_is_held() {
    let ways = [
        "throw null;",
        "throw 'text';",
        "return Promise.reject(new Error('later'));",
        "return nowhere.at.all;",
        "const f = () => f(); return f();",
        "const a = []; for (;;) a.push(new Array(100000).fill(7));",
        "return { get decision() { throw new Error('trap'); } };",
        "const a = {}; a.a = a; return { statePatch: a };",
        "return { warnings: [1n] };",
    ];
    for way in ways {
        let workspace = failing("", way);
        let answer = workspace.bash("ls");
        assert_eq!(answer["additionalContext"], "still here", "{way}");
        assert_eq!(workspace.of_type("ERROR_MODULE").len(), 1, "{way}");
    }
}

#[test]
fn s10_a_module_that_cannot_be_loaded_is_left_out_and_told() {
    for source in ["export default {", "export const x = 1;", "throw new Error('at load');", "import 'nowhere';"] {
        let workspace = PipelineWorkspace::with(&["session", "broken"]);
        workspace.context.write(".ai/hooks/features/broken/hook.mjs", source);
        let _ = workspace.context.dispatch(&["trust", "--all"]);
        assert_eq!(workspace.decision("ls"), "allow", "{source}");
        let told = workspace.of_type("WARNING");
        assert!(
            told.iter().any(|record| record["data"]["message"].as_str().unwrap().contains("broken")),
            "{source} {told:?}"
        );
    }
}

#[test]
fn s10_secrets_in_errors_do_not_reach_the_log() {
    let workspace = failing("", "throw new Error('token ghp_0123456789abcdefghijABCDEFGHIJ456789');");
    workspace.bash("ls");
    assert!(!workspace.text("events.jsonl").contains("ghp_0123456789"));
    let error: Value = workspace.of_type("ERROR_MODULE").pop().unwrap();
    assert!(error["data"]["error"].as_str().unwrap().contains("[REDACTED]"), "{error}");
}

#[test]
fn s10_only_the_guards_are_critical() {
    let critical: Vec<&str> =
        native_modules().iter().filter(|module| module.spec().critical).map(|module| module.spec().name).collect();
    assert_eq!(critical, ["session", "self-guard", "graph-pretooluse"]);
}
