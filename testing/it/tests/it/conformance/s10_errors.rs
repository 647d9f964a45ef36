//! Section 10: what a module does wrong stays with it.

use super::world::World;
use ext_hook_pipeline::modules::native_modules;
use serde_json::{Value, json};

fn failing(flags: &str, body: &str) -> World {
    let world = World::with(&["session", "broken", "after"]);
    world.script("broken", &format!("priority: 10, {flags}"), body);
    world.script("after", "priority: 20,", "return { additionalContext: [{key: 'k', value: 'still here'}] };");
    world
}

#[test]
fn s10_a_failing_module_is_skipped_and_the_rest_runs() {
    let world = failing("", "ctx.log('info', 'before'); throw new TypeError('out of order');");
    let answer = world.bash("ls");
    assert_eq!(answer, json!({"decision": "allow", "additionalContext": "still here"}));
    let error = world.of_type("ERROR_MODULE").pop().unwrap();
    assert_eq!((&error["module"], &error["data"]["event"]), (&json!("broken"), &json!("PreToolUse")));
    assert!(error["data"]["error"].as_str().unwrap().contains("out of order"), "{error}");
    assert_eq!(error["data"]["stackHash"].as_str().map(str::len), Some(16));
}

#[test]
fn s10_a_failing_critical_module_denies_and_stops() {
    let world = failing("critical: true,", "throw new Error('out of order');");
    let answer = world.bash("ls");
    assert_eq!(answer["decision"], "deny");
    assert_eq!(world.last_modules(), ["session", "broken"]);
    assert_eq!(world.of_type("ERROR_MODULE_CRITICAL").len(), 1);
    assert_eq!(world.last_run()["data"]["code"], "ERROR_MODULE_CRITICAL");
}

#[test]
fn s10_only_a_tool_call_is_denied_by_a_failure() {
    let world = World::with(&["session", "broken"]);
    world.source(
        "broken",
        "export default { supports: ['Stop', 'UserPromptSubmit', 'PostToolUse'], critical: true,
           handle() { throw new Error('x'); } };",
    );
    for event in ["Stop", "UserPromptSubmit", "PostToolUse"] {
        assert_eq!(world.fire(event, &json!({"prompt": "p"}))["decision"], "allow", "{event}");
    }
    assert_eq!(world.of_type("ERROR_MODULE_CRITICAL").len(), 3);
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
        let world = failing("", way);
        let answer = world.bash("ls");
        assert_eq!(answer["additionalContext"], "still here", "{way}");
        assert_eq!(world.of_type("ERROR_MODULE").len(), 1, "{way}");
    }
}

#[test]
fn s10_a_module_that_cannot_be_loaded_is_left_out_and_told() {
    for source in ["export default {", "export const x = 1;", "throw new Error('at load');", "import 'nowhere';"] {
        let world = World::with(&["session", "broken"]);
        world.context.write(".ai/hooks/features/broken/hook.mjs", source);
        let _ = world.context.dispatch(&["trust", "--all"]);
        assert_eq!(world.decision("ls"), "allow", "{source}");
        let told = world.of_type("WARNING");
        assert!(
            told.iter().any(|record| record["data"]["message"].as_str().unwrap().contains("broken")),
            "{source} {told:?}"
        );
    }
}

#[test]
fn s10_secrets_in_errors_do_not_reach_the_log() {
    let world = failing("", "throw new Error('token ghp_0123456789abcdefghijABCDEFGHIJ456789');");
    world.bash("ls");
    assert!(!world.text("events.jsonl").contains("ghp_0123456789"));
    let error: Value = world.of_type("ERROR_MODULE").pop().unwrap();
    assert!(error["data"]["error"].as_str().unwrap().contains("[REDACTED]"), "{error}");
}

#[test]
fn s10_only_the_guards_are_critical() {
    let critical: Vec<&str> =
        native_modules().iter().filter(|module| module.spec().critical).map(|module| module.spec().name).collect();
    assert_eq!(critical, ["session", "self-guard", "graph-pretooluse"]);
}
