//! Section 7: how a module is found, and what each field of its answer comes to.

use super::world::World;
use dispatch_kernel::services::schema::check;
use serde_json::{Value, json};

#[test]
fn s07_a_module_may_answer_nothing_at_all() {
    for answer in ["return;", "return null;", "return {};", ""] {
        let world = World::with(&["session", "quiet"]);
        world.script("quiet", "", answer);
        assert_eq!(world.bash("ls"), json!({"decision": "allow"}), "{answer}");
        assert_eq!(world.last_modules(), ["session", "quiet"]);
    }
}

#[test]
fn s07_every_field_of_an_answer_has_its_effect() {
    let world = World::ruled_by(&json!({"modules": ["session", "full"], "rewriteOwner": "full"}));
    let action = json!({
        "decision": "allow",
        "updatedInput": {"command": "ls -a"},
        "additionalContext": [{"key": "k", "value": "read me"}],
        "statePatch": {"memory": {"seen": "yes"}},
        "emitEvents": [{"type": "MINE", "data": {"x": 1}}],
        "registerArtifacts": [{"kind": "note", "path": "n.md"}],
        "warnings": ["careful"],
        "metrics": {"ms": 3, "hits": 2},
        "files": [{"path": "sub/out.txt", "content": "made"}],
    });
    let schema = world.context.dispatch(&["schema", "hook-action"]).json();
    assert_eq!(check(&schema, &action), []);
    world.script("full", "", &format!("return {action};"));
    let answer = world.bash("ls");
    assert_eq!(answer["decision"], "allow");
    assert_eq!(answer["updatedInput"]["command"], "ls -a");
    assert_eq!(answer["additionalContext"], "read me");
    assert_eq!(world.state()["memory"]["seen"], "yes");
    let mine = world.of_type("MINE").pop().unwrap();
    assert_eq!((&mine["data"], &mine["module"]), (&json!({"x": 1}), &json!("full")));
    assert_eq!(world.lines("registry.jsonl")[0]["path"], "n.md");
    assert_eq!(world.of_type("WARNING")[0]["data"]["message"], "careful");
    assert_eq!(world.last_run()["data"]["metrics"]["full"], json!({"ms": 3, "hits": 2}));
    assert_eq!(world.text("full/output/sub/out.txt"), "made");
}

#[test]
fn s07_a_deny_carries_its_reason_and_gets_one_if_it_has_none() {
    for (reason, shown) in [("denyReason: 'not today'", "not today"), ("denyReason: undefined", "Denied by policy.")] {
        let world = World::with(&["session", "guard"]);
        world.script("guard", "", &format!("return {{ decision: 'deny', {reason} }};"));
        let answer = world.bash("ls");
        assert_eq!((&answer["decision"], &answer["denyReason"]), (&json!("deny"), &json!(shown)));
    }
}

#[test]
fn s07_an_answer_that_is_none_is_an_error_of_the_module() {
    for answer in ["return 'deny';", "return { decision: 'maybe' };", "return { emitEvents: 3 };", "return [1];"] {
        let world = World::with(&["session", "odd"]);
        world.script("odd", "", answer);
        assert_eq!(world.decision("ls"), "allow", "{answer}");
        assert_eq!(world.of_type("ERROR_MODULE").len(), 1, "{answer}");
    }
}

#[test]
fn s07_supports_says_which_events_a_module_sees() {
    let world = World::with(&["session", "stopper"]);
    world.source(
        "stopper",
        "export default { name: 'stopper', supports: ['Stop', 'PreCompact'], handle() { return null; } };",
    );
    world.fire("Stop", &json!({}));
    assert_eq!(world.last_modules(), ["session", "stopper"]);
    world.prompt("p");
    assert_eq!(world.last_modules(), ["session"]);
}

#[test]
fn s07_handle_may_be_asynchronous() {
    let world = World::with(&["session", "slow"]);
    world.script(
        "slow",
        "",
        "await Promise.resolve(); const x = await (async () => 'later')(); return { decision: 'ask', denyReason: x };",
    );
    assert_eq!(world.bash("ls")["askReason"], "later");
}

#[test]
fn s07_1_only_what_the_manifest_enables_runs() {
    let world = World::ruled_by(&json!({"modules": ["session", {"name": "on"}, {"name": "off", "enabled": false}]}));
    world.script("on", "", "");
    world.script("off", "", "return { decision: 'deny' };");
    world.script("unnamed", "", "return { decision: 'deny' };");
    assert_eq!(world.decision("ls"), "allow");
    assert_eq!(world.last_modules(), ["session", "on"]);
}

#[test]
fn s07_1_the_manifest_overrides_a_modules_own_flags() {
    let flags = json!({"name": "guard", "priority": -5, "critical": true, "hotPathSafe": false});
    let world = World::ruled_by(&json!({"modules": ["session", {"name": "guard", "priority": -5}]}));
    world.script("guard", "priority: 90,", "if (ctx.event.toolInput.command === 'x') throw new Error('no');");
    world.bash("ls");
    assert_eq!(world.last_modules(), ["guard", "session"], "priority");
    assert_eq!(world.decision("x"), "allow");
    world.rule(&json!({"modules": ["session", {"name": "guard", "critical": true}]}));
    assert_eq!(world.decision("x"), "deny", "critical");
    world.rule(&json!({"modules": ["session", flags]}));
    world.bash("x");
    assert_eq!(world.last_modules(), ["session"], "hotPathSafe");
}

#[test]
fn s07_1_a_feature_folder_stands_by_itself() {
    let world = World::with(&["session", "copy"]);
    world.context.write(".ai/hooks/lib/shared.mjs", "export const word = 'shared';");
    world.context.write(".ai/hooks/features/copy/part.mjs", "export const part = 'part';");
    world.context.write(".ai/hooks/features/other/part.mjs", "export const part = 'stolen';");
    let source = |import: &str| {
        format!(
            "{import} export default {{ name: 'copy', supports: ['PreToolUse'], hotPathSafe: true,
               handle() {{ return {{ additionalContext: [{{key: 'k', value: found}}] }}; }} }};"
        )
    };
    let own =
        "import { part } from './part.mjs'; import { word } from '../../lib/shared.mjs'; const found = part + word;";
    world.source("copy", &source(own));
    assert_eq!(world.bash("ls")["additionalContext"], "partshared");
    world.source("copy", &source("import { part } from '../other/part.mjs'; const found = part;"));
    let answer = world.bash("ls");
    assert_eq!(answer, json!({"decision": "allow"}), "another module's folder is closed");
}

#[test]
fn s07_1_a_module_that_is_missing_or_not_approved_is_absent_and_told() {
    let world = World::with(&["session", "nowhere", "stranger"]);
    let source =
        "export default { supports: ['PreToolUse'], hotPathSafe: true, handle() { return {decision: 'deny'}; } };";
    world.context.write(".ai/hooks/features/stranger/hook.mjs", source);
    assert_eq!(world.decision("ls"), "allow");
    assert_eq!(world.last_modules(), ["session"]);
    let trace = std::fs::read_to_string(world.context.project().join(".ai/tmp/dispatch.log")).unwrap();
    assert!(trace.contains("absent=nowhere") && trace.contains("`stranger` does not run"), "{trace}");
    let records: Vec<Value> = world.of_type("ERROR_MODULE");
    assert!(records.is_empty(), "{records:?}");
}
