//! The committed schemas are what the types say, accept what is written and refuse what is not meant.

use std::fs;
use std::path::{Path, PathBuf};

use dispatch_hook_dialects::Answer;
use dispatch_hook_dialects::dialect::{self, hosts_markdown};
use dispatch_hook_module::{Artifact, Decision, EventName, FileWrite, HookAction, HookEvent, RecordType};
use dispatch_kernel::services::schema::{check, unsupported_keywords};
use serde_json::{Value, json};

use super::ALL;
use crate::manifest::PipelineManifest;

/// Set to write the generated files in place of comparing them.
const WRITE_VARIABLE: &str = "DISPATCH_WRITE_GENERATED";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the workspace").to_path_buf()
}

fn schema(name: &str) -> Value {
    ALL.iter().find(|schema| schema.name == name).expect("a schema").to_value()
}

fn accepts(name: &str, value: &Value) {
    assert_eq!(check(&schema(name), value), [], "{name}: {value:#}");
}

fn refuses(name: &str, value: &Value) {
    assert!(!check(&schema(name), value).is_empty(), "{name}: {value:#}");
}

/// What `cargo xtask live` wrote at the end of the page, from runs of real agents.
fn live_section() -> String {
    let page = fs::read_to_string(repository().join("docs/hosts.md")).unwrap_or_default();
    page.find("\n<!-- live:").map_or_else(String::new, |start| page[start..].to_owned())
}

#[test]
fn the_committed_files_are_what_the_code_generates() {
    let mut wanted: Vec<(PathBuf, String)> =
        ALL.iter().map(|schema| (format!("sdk/schema/{}.schema.json", schema.name).into(), schema.to_text())).collect();
    wanted.push(("docs/hosts.md".into(), hosts_markdown() + &live_section()));
    for (path, text) in wanted {
        let full = repository().join(&path);
        if std::env::var_os(WRITE_VARIABLE).is_some() {
            fs::write(&full, text).expect("writable");
            continue;
        }
        let committed = fs::read_to_string(&full).unwrap_or_default();
        assert!(committed == text, "{} is stale: run `cargo xtask schemas --write`", path.display());
    }
}

#[test]
fn every_schema_can_be_checked_in_full() {
    for schema in &ALL {
        assert_eq!(unsupported_keywords(&schema.to_value()), [""; 0], "{}", schema.name);
    }
}

#[test]
fn every_recorded_payload_is_a_hook_input() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../platform/hook-dialects/testdata/fixtures");
    let index: Value = serde_json::from_slice(&fs::read(root.join("INDEX.json")).expect("index")).expect("JSON");
    let inputs = index["fixtures"].as_array().expect("a list").iter().filter(|fixture| fixture["kind"] == "input");
    let mut seen = 0;
    for fixture in inputs {
        let file = fixture["file"].as_str().expect("a path");
        let bytes = fs::read(root.join(file)).expect("a listed fixture");
        // Some payloads are damaged on purpose; what is no JSON has no schema.
        let Ok(payload) = serde_json::from_slice::<Value>(&bytes) else { continue };
        assert_eq!(check(&schema("hook-input"), &payload), [], "{file}");
        seen += 1;
    }
    assert!(seen > 140, "{seen}");
    for wrong in [json!([]), json!("x"), json!({}), json!({"tool_name": 3}), json!({"tool_input": 4})] {
        refuses("hook-input", &wrong);
    }
}

#[test]
fn every_native_reply_is_a_hook_output() {
    let native = dialect::by_name("native").expect("native");
    for name in EventName::KNOWN {
        let event = HookEvent::new(name.clone(), "native", name.as_str().to_owned(), Value::Null);
        let all = [(Decision::Allow, false), (Decision::Allow, true), (Decision::Ask, false), (Decision::Deny, false)];
        for (decision, grant) in all {
            let answer = Answer {
                decision,
                grant,
                reason: Some("because".to_owned()),
                code: Some("UB01".to_owned()),
                context: vec!["read this".to_owned()],
                system_message: Some("hello".to_owned()),
                updated_input: Some(json!({"a": 1})),
                updated_output: Some(json!("text")),
                halt: None,
            };
            for answer in [Answer::pass(), Answer { halt: Some("enough".to_owned()), ..answer.clone() }, answer] {
                let reply = native.render(&event, &answer);
                accepts("hook-output", &serde_json::from_slice(&reply.stdout).expect("JSON"));
            }
        }
    }
    refuses("hook-output", &json!({}));
    refuses("hook-output", &json!({"decision": "perhaps"}));
}

#[test]
fn actions_of_modules_fit_and_misspelled_decisions_do_not() {
    let action = HookAction::deny("UB01", "no")
        .with_context("k", "v")
        .with_record(RecordType::Warning, json!({"message": "x"}))
        .with_state(json!({"core": {"phase": "PLANNING"}}))
        .with_file(FileWrite::append("a.txt", "x"))
        .with_warning("careful");
    accepts("hook-action", &serde_json::to_value(&action).expect("JSON"));
    accepts("hook-action", &json!({}));
    refuses("hook-action", &json!({"decision": "block"}));
    refuses("hook-action", &json!({"registerArtifacts": [{"kind": "planGraph"}]}));
}

#[test]
fn manifests_fit_with_every_field_and_with_none() {
    accepts("manifest", &serde_json::to_value(PipelineManifest::default()).expect("JSON"));
    accepts("manifest", &json!({"version": 1, "modules": [{"name": "mine"}], "budgets": {"PreToolUse": 300}}));
    accepts("manifest", &json!({"unattended": "deny", "enforcePhases": true}));
    refuses("manifest", &json!({"modules": [{"enabled": true}]}));
    refuses("manifest", &json!({"unattended": "maybe"}));
    refuses("manifest", &json!({"phasePolicy": {"PLANNING": {"allowTools": 3}}}));
}

#[test]
fn rules_configuration_and_state_fit() {
    accepts("rlm-policy", &json!({"rules": []}));
    accepts(
        "rlm-policy",
        &json!({"rules": [{
            "id": "big-search", "match": {"kinds": ["search"], "callsPerTurnOver": 5},
            "require": {"subagent": ["Explore"], "output": {"glob": "*.json"}}, "action": "ask", "message": "Delegate it.",
        }]}),
    );
    refuses("rlm-policy", &json!({"rules": [{"id": "x", "match": {}}]}));
    refuses("rlm-policy", &json!({}));
    accepts(
        "followup-rules",
        &json!({"rules": [{
            "id": "migrations", "when": {"event": "PreToolUse", "paths": ["db/**"]}, "inject": "Add a way back.", "once": "turn",
        }]}),
    );
    refuses(
        "followup-rules",
        &json!({"rules": [{"id": "x", "when": {"evnt": "Stop", "event": "Stop"}, "inject": ""}]}),
    );
    accepts(
        "config",
        &json!({"$schema": "x", "prompts": "hash", "redact": {"patterns": ["a", {"regex": "b"}]}, "session": {}}),
    );
    refuses("config", &json!({"prompts": "all"}));
    accepts("config", &json!({"rules": [{"when": {"command": "npm publish *"}, "then": "deny", "because": "x"}]}));
    refuses("config", &json!({"rules": [{"when": {"comand": "x"}, "then": "deny"}]}));
    refuses("config", &json!({"rules": [{"when": {"command": "x"}, "then": "forbid"}]}));
    accepts(
        "state",
        &json!({"core": {"sessionId": "a3f0c812", "phase": "PLANNING", "lastTurnId": 3, "agents": {"x": "a01"}}}),
    );
    accepts("state", &json!({"cap": {"neo4j": {"enabled": false, "reachable": false}}, "mine": {"x": 1}}));
    refuses("state", &json!({"core": {"phase": "DONE"}}));
}

#[test]
fn artifact_records_fit() {
    let artifact = Artifact { kind: "planGraph".to_owned(), path: "a.json".to_owned(), ..Artifact::default() };
    let mut line = json!({
        "ts": "2026-01-02T03:04:05.678Z", "hookRunId": "Stop-1-1", "sessionId": "a3f0c812", "workId": "w001",
        "agentId": "u00", "turnId": 1, "module": "plan-subagent-contract",
    });
    refuses("artifact-record", &line);
    let fields = serde_json::to_value(artifact).expect("JSON");
    line.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    accepts("artifact-record", &line);
}
