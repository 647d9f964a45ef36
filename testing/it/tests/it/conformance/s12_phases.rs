//! Section 12: how work moves through its phases, and which tools each phase is open to.

use dispatch_hook_module::phase::Phase;

use super::workspace::PipelineWorkspace;
use serde_json::{Value, json};

fn phase(workspace: &PipelineWorkspace) -> Value {
    workspace.state()["core"]["phase"].clone()
}

fn set(workspace: &PipelineWorkspace, name: &str) {
    let output = workspace.context.dispatch(&["phase", "set", name, "--reason", "the test says so"]);
    assert_eq!(output.status, 0, "{output:?}");
}

#[test]
fn s12_1_the_ordinals_are_those_of_the_contract() {
    let ordinals = Phase::ALL.map(|phase| (phase.as_str(), phase.ordinal()));
    let expected = [("UNINITIALIZED", 0), ("PLANNING", 1), ("EXECUTING", 2), ("COMPLETE", 3), ("BLOCKED", 99)];
    assert_eq!(ordinals, expected);
}

#[test]
fn s12_2_a_session_starts_uninitialized_and_plans_with_the_first_prompt() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.fire("SessionStart", &json!({"source": "startup"}));
    assert_eq!(phase(&workspace), "UNINITIALIZED");
    workspace.bash("ls");
    assert_eq!(phase(&workspace), "UNINITIALIZED");
    workspace.prompt("go");
    assert_eq!(phase(&workspace), "PLANNING");
    let changed = workspace.of_type("PHASE_CHANGED").pop().unwrap();
    assert_eq!((&changed["data"]["from"], &changed["data"]["to"]), (&json!("UNINITIALIZED"), &json!("PLANNING")));
    workspace.fire("SessionStart", &json!({"source": "resume"}));
    assert_eq!(phase(&workspace), "PLANNING", "resuming takes nothing back");
}

#[test]
fn s12_2_a_plan_leads_from_executing_over_blocked_to_complete() {
    let workspace = PipelineWorkspace::with(&["session"]);
    workspace.prompt("go");
    let nodes =
        json!([{"id": "a", "title": "A", "scope": ["src/**"], "dependsOn": [], "validations": ["test -f done"]}]);
    workspace.plan(&json!([{"id": "a", "title": "A", "scope": ["../**"], "dependsOn": []}]));
    let dispatch = |arguments: &[&str]| workspace.context.dispatch(arguments).status;
    assert_ne!(dispatch(&["plan", "submit", ".ai/plan/planGraph.json"]), 0);
    assert_eq!(phase(&workspace), "PLANNING", "a plan that is wrong is not accepted");
    workspace.plan(&nodes);
    assert_eq!(dispatch(&["plan", "submit", ".ai/plan/planGraph.json"]), 0);
    assert_eq!(phase(&workspace), "EXECUTING");
    assert_eq!(dispatch(&["plan", "complete", "a"]), 1);
    assert_eq!(phase(&workspace), "BLOCKED", "a validation failed");
    set(&workspace, "EXECUTING");
    assert_eq!(phase(&workspace), "EXECUTING", "remediation leads back");
    workspace.context.write("done", "");
    assert_eq!(dispatch(&["plan", "complete", "a"]), 0);
    assert_eq!(phase(&workspace), "COMPLETE");
    workspace.prompt("something else");
    assert_eq!((phase(&workspace), &workspace.last_run()["workId"]), (json!("PLANNING"), &json!("w002")), "new work");
}

/// The calls that the table of phases is asked about.
const CALLS: [(&str, &str); 6] = [
    ("read_file", r#"{"filePath": "a.txt"}"#),
    ("grep_search", r#"{"query": "x", "includePattern": "src/**"}"#),
    ("semantic_search", r#"{"query": "x"}"#),
    ("list_dir", r#"{"path": "src"}"#),
    ("runSubagent", r#"{"prompt": "x"}"#),
    ("create_file", r#"{"filePath": "a.txt", "content": "x"}"#),
];

fn open_to(workspace: &PipelineWorkspace) -> Vec<&'static str> {
    let decision = |tool: &str, input: &str| {
        let input: Value = serde_json::from_str(input).unwrap();
        let payload = workspace.payload("PreToolUse", &json!({"tool_name": tool, "tool_input": input}));
        let stdin = payload.to_string();
        let output = workspace.context.run("dispatch-hook", &["PreToolUse", "--host", "vscode"], stdin.as_bytes(), &[]);
        output.json()["hookSpecificOutput"]["permissionDecision"].clone()
    };
    CALLS.into_iter().filter(|(tool, input)| decision(tool, input) != "deny").map(|(tool, _)| tool).collect()
}

#[test]
fn s12_3_each_phase_is_open_to_its_tools() {
    let looking = ["read_file", "grep_search", "semantic_search", "list_dir"];
    let planning = [&looking[..], &["runSubagent"]].concat();
    let all: Vec<&str> = CALLS.iter().map(|(tool, _)| *tool).collect();
    let workspace = PipelineWorkspace::ruled_by(&json!({"modules": ["session"], "enforcePhases": true}));
    assert_eq!(open_to(&workspace), looking, "UNINITIALIZED");
    workspace.prompt("go");
    assert_eq!(open_to(&workspace), planning, "PLANNING");
    set(&workspace, "BLOCKED");
    assert_eq!(open_to(&workspace), ["read_file", "list_dir"], "BLOCKED: tools that read one place");
    set(&workspace, "EXECUTING");
    assert_eq!(open_to(&workspace), all, "EXECUTING");
    set(&workspace, "COMPLETE");
    let complete = open_to(&workspace);
    assert!(complete.contains(&"read_file") && complete.contains(&"grep_search"), "{complete:?}");
    assert!(!complete.contains(&"create_file") && !complete.contains(&"runSubagent"), "{complete:?}");
}

#[test]
fn s12_3_what_a_plan_subagent_owes_can_be_written_while_planning() {
    let workspace =
        PipelineWorkspace::ruled_by(&json!({"modules": ["session", "plan-subagent-contract"], "enforcePhases": true}));
    workspace.prompt("go");
    workspace.fire("SubagentStart", &json!({"agent_id": "p1", "agent_type": "Plan"}));
    let decision =
        |path: &str| workspace.call("Write", &json!({"file_path": path, "content": "{}"}))["decision"].clone();
    let session = ".ai/tmp/ba7816bf";
    assert_eq!(decision(&format!("{session}/plan-subagent-contract/output/sa/Plan/a01/planGraph.json")), "allow");
    for elsewhere in [
        "src/main.rs",
        ".ai/tmp/ba7816bf/state.json",
        ".ai/tmp/ba7816bf/plan-subagent-contract/output/sa/Plan/a02/planGraph.json",
        ".ai/tmp/ba7816bf/plan-subagent-contract/output/sa/Plan/a01/../../../../state.json",
        ".ai/tmp/ffffffff/plan-subagent-contract/output/sa/Plan/a01/planGraph.json",
    ] {
        assert_eq!(decision(elsewhere), "deny", "{elsewhere}");
    }
    let folder = workspace.session().join("plan-subagent-contract/output/sa/Plan/a01");
    #[cfg(unix)]
    std::os::unix::fs::symlink(workspace.context.project(), folder.join("link")).unwrap();
    #[cfg(unix)]
    assert_eq!(decision(&format!("{}/link/src.rs", folder.display())), "deny", "not through a link");
}

#[test]
fn s12_3_a_refusal_names_the_phase_and_is_on_record() {
    let workspace = PipelineWorkspace::ruled_by(&json!({"modules": ["session"], "enforcePhases": true}));
    let answer = workspace.call("Write", &json!({"file_path": "a.txt", "content": "x"}));
    assert_eq!(answer["decision"], "deny");
    assert!(answer["denyReason"].as_str().unwrap().contains("UNINITIALIZED"), "{answer}");
    assert_eq!(workspace.last_run()["data"]["code"], "PHASE_POLICY");
}

#[test]
fn s12_3_the_policy_is_configurable_and_can_only_warn() {
    let policy = |mode: &str| {
        json!({"modules": ["session"], "enforcePhases": true,
            "phasePolicy": {"UNINITIALIZED": {"allowTools": ["Write"], "mode": mode}}})
    };
    let workspace = PipelineWorkspace::ruled_by(&policy("deny"));
    assert_eq!(workspace.call("Write", &json!({"file_path": "a.txt", "content": "x"}))["decision"], "allow");
    assert_eq!(
        workspace.call("Read", &json!({"file_path": "a.txt"}))["decision"],
        "deny",
        "the list replaces the default"
    );
    workspace.rule(&policy("warn"));
    let answer = workspace.call("Read", &json!({"file_path": "a.txt"}));
    assert_eq!(answer["decision"], "allow");
    assert!(answer["additionalContext"].as_str().unwrap().contains("is not open in the phase"), "{answer}");
    assert_eq!(workspace.of_type("WARNING").len(), 1);
}

#[test]
fn s12_4_without_enforcement_phases_are_tracked_only() {
    for manifest in [json!({"modules": ["session"]}), json!({"modules": ["session"], "enforcePhases": false})] {
        let workspace = PipelineWorkspace::ruled_by(&manifest);
        workspace.prompt("go");
        assert_eq!(workspace.call("Write", &json!({"file_path": "a.txt", "content": "x"}))["decision"], "allow");
        assert_eq!(phase(&workspace), "PLANNING");
    }
}
