//! Sections 15 and 16: the files that configure the pipeline, and the schemas of everything it reads and writes.

use super::s05_ids_and_paths::ALL_MODULES;
use super::workspace::PipelineWorkspace;
use dispatch_kernel::services::schema::check;
use serde_json::{Value, json};

#[test]
fn s15_init_writes_every_file_of_the_configuration() {
    let workspace = PipelineWorkspace::with(&[]);
    std::fs::remove_dir_all(workspace.context.project().join(".ai")).unwrap();
    assert_eq!(workspace.context.dispatch(&["init", "--host", "vscode-copilot"]).status, 0);
    let files = workspace.files(".ai/hooks");
    for name in ["config.json", "dispatch.manifest.json", "rlm-policy.json", "followup-rules.json"] {
        assert!(files.contains(name), "{name} in {files:?}");
    }
    assert!(files.iter().filter(|name| name.starts_with("schema/")).count() >= 9, "{files:?}");
    let kept = |name: &str| {
        let output = std::process::Command::new("git")
            .args(["check-ignore", "-q", name])
            .current_dir(workspace.context.project())
            .output()
            .expect("git");
        output.status.code() != Some(0)
    };
    assert!(kept(".ai/hooks/config.json"), "configuration is committed");
}

#[test]
fn s15_config_knobs_reach_their_module() {
    let workspace = PipelineWorkspace::with(&["session", "graph-pretooluse"]);
    assert_eq!(workspace.decision("rm -rf /srv/data"), "deny");
    workspace.configure(&json!({"graph-pretooluse": {"rules": {"UB01": "off"}}}));
    assert_eq!(workspace.decision("rm -rf /srv/data"), "allow");
}

#[test]
fn s15_the_rlm_policy_is_read() {
    let workspace = PipelineWorkspace::with(&["session", "rlm-work"]);
    let rule = json!({"id": "r1", "match": {"tools": ["Write"]}, "require": {"subagent": ["coder"]}, "action": "deny",
        "message": "delegate it"});
    workspace.context.write(".ai/hooks/rlm-policy.json", json!({ "rules": [rule] }).to_string());
    let answer = workspace.call("Write", &json!({"file_path": "a.txt", "content": "x"}));
    assert_eq!(answer["decision"], "deny");
    assert!(answer["denyReason"].as_str().unwrap().contains("delegate it"), "{answer}");
    assert_eq!(workspace.decision("ls"), "allow");
}

#[test]
fn s15_the_followup_rules_are_read() {
    let workspace = PipelineWorkspace::with(&["session", "memory-activation"]);
    let rule = json!({"id": "f1", "when": {"event": "PreToolUse", "command": "^npm "}, "inject": "use pnpm"});
    workspace.context.write(".ai/hooks/followup-rules.json", json!({ "rules": [rule] }).to_string());
    assert_eq!(workspace.bash("npm install")["additionalContext"], "use pnpm");
    assert_eq!(workspace.bash("ls")["additionalContext"], Value::Null);
}

#[test]
fn s15_a_mistake_in_any_file_never_blocks_and_is_told() {
    for name in ["config.json", "dispatch.manifest.json", "rlm-policy.json", "followup-rules.json"] {
        for content in ["{ nope", "[]", "7", "{\"rules\": 3, \"modules\": 3, \"budgets\": []}"] {
            let workspace = PipelineWorkspace::with(&["session", "rlm-work", "memory-activation"]);
            workspace.context.write(format!(".ai/hooks/{name}"), content);
            assert_eq!(workspace.decision("ls"), "allow", "{name} {content}");
        }
    }
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.context.write(".ai/hooks/config.json", "{ nope");
    workspace.bash("ls");
    assert!(workspace.of_type("WARNING")[0]["data"]["message"].as_str().unwrap().contains("not JSON"));
}

const SCHEMAS: [&str; 9] = [
    "hook-input",
    "hook-output",
    "ctx",
    "hook-action",
    "state",
    "event-record",
    "artifact-record",
    "rlm-policy",
    "followup-rules",
];

fn schema(workspace: &PipelineWorkspace, name: &str) -> Value {
    workspace.context.dispatch(&["schema", name]).json()
}

#[test]
fn s16_every_schema_of_the_inventory_exists() {
    let workspace = PipelineWorkspace::with(&[]);
    for name in SCHEMAS {
        assert!(schema(&workspace, name)["$schema"].is_string(), "{name}");
    }
}

/// `ctx`, `hook-output` and `hook-action` are checked where they are made, in sections 3, 6 and 7.
#[test]
fn s16_what_a_session_leaves_fits_its_schemas() {
    let workspace = PipelineWorkspace::with(&ALL_MODULES);
    workspace.whole_session();
    let input = schema(&workspace, "hook-input");
    let more = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_eq!(check(&input, &workspace.payload("PreToolUse", &more)), []);
    assert_eq!(check(&schema(&workspace, "state"), &workspace.state()), []);
    let record = schema(&workspace, "event-record");
    for line in workspace.records() {
        assert_eq!(check(&record, &line), [], "{line}");
    }
    assert!(!check(&record, &json!({"v": 1})).is_empty(), "the check can fail");
}

#[test]
fn s16_a_registered_artifact_fits_its_schema() {
    let workspace = PipelineWorkspace::with(&["session", "maker"]);
    workspace.script(
        "maker",
        "",
        "return { registerArtifacts: [{kind: 'note', path: 'a.md', sha256: 'ff', bytes: 3}] };",
    );
    workspace.bash("ls");
    let schema = schema(&workspace, "artifact-record");
    for line in workspace.lines("registry.jsonl") {
        assert_eq!(check(&schema, &line), [], "{line}");
    }
}

#[test]
fn s16_what_init_writes_fits_its_schemas() {
    let workspace = PipelineWorkspace::with(&[]);
    std::fs::remove_dir_all(workspace.context.project().join(".ai")).unwrap();
    assert_eq!(workspace.context.dispatch(&["init", "--host", "vscode-copilot", "--full"]).status, 0);
    for (file, name) in [
        ("rlm-policy.json", "rlm-policy"),
        ("followup-rules.json", "followup-rules"),
        ("config.json", "config"),
        ("dispatch.manifest.json", "manifest"),
    ] {
        let text = std::fs::read_to_string(workspace.context.project().join(".ai/hooks").join(file)).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(check(&schema(&workspace, name), &value), [], "{file}");
    }
}
