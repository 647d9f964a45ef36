//! Section 7: how a module is found, and what each field of its answer comes to.

use super::workspace::PipelineWorkspace;
use dispatch_kernel::services::schema::check;
use serde_json::{Value, json};

#[test]
fn s07_a_module_may_answer_nothing_at_all() {
    for answer in ["return;", "return null;", "return {};", ""] {
        let workspace = PipelineWorkspace::with(&["session", "quiet"]);
        workspace.script("quiet", "", answer);
        assert_eq!(workspace.bash("ls"), json!({"decision": "allow"}), "{answer}");
        assert_eq!(workspace.last_modules(), ["session", "quiet"]);
    }
}

#[test]
fn s07_every_field_of_an_answer_has_its_effect() {
    let workspace = PipelineWorkspace::ruled_by(&json!({"modules": ["session", "full"], "rewriteOwner": "full"}));
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
    let schema = workspace.context.dispatch(&["schema", "hook-action"]).json();
    assert_eq!(check(&schema, &action), []);
    workspace.script("full", "", &format!("return {action};"));
    let answer = workspace.bash("ls");
    assert_eq!(answer["decision"], "allow");
    assert_eq!(answer["updatedInput"]["command"], "ls -a");
    assert_eq!(answer["additionalContext"], "read me");
    assert_eq!(workspace.state()["memory"]["seen"], "yes");
    let mine = workspace.of_type("MINE").pop().unwrap();
    assert_eq!((&mine["data"], &mine["module"]), (&json!({"x": 1}), &json!("full")));
    assert_eq!(workspace.lines("registry.jsonl")[0]["path"], "n.md");
    assert_eq!(workspace.of_type("WARNING")[0]["data"]["message"], "careful");
    assert_eq!(workspace.last_run()["data"]["metrics"]["full"], json!({"ms": 3, "hits": 2}));
    assert_eq!(workspace.text("full/output/sub/out.txt"), "made");
}

#[test]
fn s07_a_deny_carries_its_reason_and_gets_one_if_it_has_none() {
    for (reason, shown) in [("denyReason: 'not today'", "not today"), ("denyReason: undefined", "Denied by policy.")] {
        let workspace = PipelineWorkspace::with(&["session", "guard"]);
        workspace.script("guard", "", &format!("return {{ decision: 'deny', {reason} }};"));
        let answer = workspace.bash("ls");
        assert_eq!((&answer["decision"], &answer["denyReason"]), (&json!("deny"), &json!(shown)));
    }
}

#[test]
fn s07_an_answer_that_is_none_is_an_error_of_the_module() {
    for answer in ["return 'deny';", "return { decision: 'maybe' };", "return { emitEvents: 3 };", "return [1];"] {
        let workspace = PipelineWorkspace::with(&["session", "odd"]);
        workspace.script("odd", "", answer);
        assert_eq!(workspace.decision("ls"), "allow", "{answer}");
        assert_eq!(workspace.of_type("ERROR_MODULE").len(), 1, "{answer}");
    }
}

#[test]
fn s07_supports_says_which_events_a_module_sees() {
    let workspace = PipelineWorkspace::with(&["session", "stopper"]);
    workspace.source(
        "stopper",
        "export default { name: 'stopper', supports: ['Stop', 'PreCompact'], handle() { return null; } };",
    );
    workspace.fire("Stop", &json!({}));
    assert_eq!(workspace.last_modules(), ["session", "stopper"]);
    workspace.prompt("p");
    assert_eq!(workspace.last_modules(), ["session"]);
}

#[test]
fn s07_handle_may_be_asynchronous() {
    let workspace = PipelineWorkspace::with(&["session", "slow"]);
    workspace.script(
        "slow",
        "",
        "await Promise.resolve(); const x = await (async () => 'later')(); return { decision: 'ask', denyReason: x };",
    );
    assert_eq!(workspace.bash("ls")["askReason"], "later");
}

#[test]
fn s07_1_only_what_the_manifest_enables_runs() {
    let workspace = PipelineWorkspace::ruled_by(
        &json!({"modules": ["session", {"name": "on"}, {"name": "off", "enabled": false}]}),
    );
    workspace.script("on", "", "");
    workspace.script("off", "", "return { decision: 'deny' };");
    workspace.script("unnamed", "", "return { decision: 'deny' };");
    assert_eq!(workspace.decision("ls"), "allow");
    assert_eq!(workspace.last_modules(), ["session", "on"]);
}

#[test]
fn s07_1_the_manifest_overrides_a_modules_own_flags() {
    let flags = json!({"name": "guard", "priority": -5, "critical": true, "hotPathSafe": false});
    let workspace = PipelineWorkspace::ruled_by(&json!({"modules": ["session", {"name": "guard", "priority": -5}]}));
    workspace.script("guard", "priority: 90,", "if (ctx.event.toolInput.command === 'x') throw new Error('no');");
    workspace.bash("ls");
    assert_eq!(workspace.last_modules(), ["guard", "session"], "priority");
    assert_eq!(workspace.decision("x"), "allow");
    workspace.rule(&json!({"modules": ["session", {"name": "guard", "critical": true}]}));
    assert_eq!(workspace.decision("x"), "deny", "critical");
    workspace.rule(&json!({"modules": ["session", flags]}));
    workspace.bash("x");
    assert_eq!(workspace.last_modules(), ["session"], "hotPathSafe");
}

#[test]
fn s07_1_a_feature_folder_stands_by_itself() {
    let workspace = PipelineWorkspace::with(&["session", "copy"]);
    workspace.context.write(".ai/hooks/lib/shared.mjs", "export const word = 'shared';");
    workspace.context.write(".ai/hooks/features/copy/part.mjs", "export const part = 'part';");
    workspace.context.write(".ai/hooks/features/other/part.mjs", "export const part = 'stolen';");
    let source = |import: &str| {
        format!(
            "{import} export default {{ name: 'copy', supports: ['PreToolUse'], hotPathSafe: true,
               handle() {{ return {{ additionalContext: [{{key: 'k', value: found}}] }}; }} }};"
        )
    };
    let own =
        "import { part } from './part.mjs'; import { word } from '../../lib/shared.mjs'; const found = part + word;";
    workspace.source("copy", &source(own));
    assert_eq!(workspace.bash("ls")["additionalContext"], "partshared");
    workspace.source("copy", &source("import { part } from '../other/part.mjs'; const found = part;"));
    let answer = workspace.bash("ls");
    assert_eq!(answer, json!({"decision": "allow"}), "another module's folder is closed");
}

#[test]
fn s07_1_a_module_that_is_missing_or_not_approved_is_absent_and_told() {
    let workspace = PipelineWorkspace::with(&["session", "nowhere", "stranger"]);
    let source =
        "export default { supports: ['PreToolUse'], hotPathSafe: true, handle() { return {decision: 'deny'}; } };";
    workspace.context.write(".ai/hooks/features/stranger/hook.mjs", source);
    assert_eq!(workspace.decision("ls"), "allow");
    assert_eq!(workspace.last_modules(), ["session"]);
    let trace = std::fs::read_to_string(workspace.context.project().join(".ai/tmp/dispatch.log")).unwrap();
    assert!(trace.contains("absent=nowhere") && trace.contains("`stranger` does not run"), "{trace}");
    let records: Vec<Value> = workspace.of_type("ERROR_MODULE");
    assert!(records.is_empty(), "{records:?}");
}
