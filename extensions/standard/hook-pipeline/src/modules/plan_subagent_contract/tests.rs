//! Tables of deliveries, good and bad.

use dispatch_hook_module::Decision;
use dispatch_hook_module::digest::sha256_hex;
use dispatch_hook_module::testing::TestInvocation;
use serde_json::{Value, json};

use super::*;

const FOLDER: &str = ".ai/tmp/a3f0c812/plan-subagent-contract/output/sa/Plan/a01";

fn subagent(event: EventName, kind: &str) -> TestInvocation {
    let kind = kind.to_owned();
    TestInvocation::new(event).with(|scene| {
        scene.event.agent_type = Some(kind);
        scene.event.agent_id = Some("host-1".to_owned());
        scene.ids.agent_id = "a01".to_owned();
    })
}

fn stop() -> TestInvocation {
    subagent(EventName::SubagentStop, "Plan")
}

fn plan() -> String {
    json!({"version": 1, "nodes": [{"id": "a", "title": "t", "scope": ["src/**"], "dependsOn": []}]}).to_string()
}

fn manifest(files: Value) -> String {
    json!({"version": 1, "files": files}).to_string()
}

fn delivered() -> TestInvocation {
    let files = json!([{"path": "planGraph.json", "sha256": sha256_hex(plan().as_bytes())}, {"path": "notes/a.md"}]);
    stop()
        .file(&format!("{FOLDER}/planGraph.json"), plan())
        .file(&format!("{FOLDER}/manifest.json"), manifest(files))
        .file(&format!("{FOLDER}/notes/a.md"), "notes")
}

fn reason(scene: &TestInvocation) -> String {
    let action = scene.handle(&PlanSubagentContract);
    assert_eq!((action.decision, action.code.as_deref()), (Some(Decision::Deny), Some("PC01")));
    assert!(action.register_artifacts.is_empty() && action.emit_events.is_empty());
    action.deny_reason.expect("a reason")
}

#[test]
fn only_planning_subagents_are_bound() {
    for (kind, bound) in [("Plan", true), ("plan", true), ("Explore", false), ("Planner", false), ("", false)] {
        for event in [EventName::SubagentStart, EventName::SubagentStop] {
            let action = subagent(event, kind).handle(&PlanSubagentContract);
            assert_eq!(action != HookAction::none(), bound, "{kind}");
        }
    }
    let own = subagent(EventName::SubagentStart, "Architect").config(json!({"planAgentTypes": ["Architect"]}));
    assert_ne!(own.handle(&PlanSubagentContract), HookAction::none());
    assert!(!PlanSubagentContract.spec().handles(&EventName::PreToolUse));
}

#[test]
fn the_start_names_both_files_and_makes_their_folder() {
    let action = subagent(EventName::SubagentStart, "Plan").handle(&PlanSubagentContract);
    let text = &action.additional_context[0].value;
    for part in
        [&format!("{FOLDER}/planGraph.json"), &format!("{FOLDER}/manifest.json"), "dependsOn", "sha256", "no cycle"]
    {
        assert!(text.contains(part), "{part}");
    }
    assert!(text.len() < 1500, "{}", text.len());
    assert_eq!(action.files[0].path, "sa/Plan/a01/contract.md");
    let strange = subagent(EventName::SubagentStart, "../../etc").config(json!({"planAgentTypes": ["../../etc"]}));
    let path = &strange.handle(&PlanSubagentContract).files[0].path;
    assert!(path.split('/').count() == 4 && !path.split('/').any(|part| part == ".."), "{path}");
}

#[test]
fn a_valid_delivery_is_registered_with_its_hashes() {
    let action = delivered().handle(&PlanSubagentContract);
    assert_eq!(action.decision, None);
    let kinds: Vec<&str> = action.register_artifacts.iter().map(|artifact| artifact.kind.as_str()).collect();
    assert_eq!(kinds, ["planGraph", "planManifest", "planFile"]);
    let first = &action.register_artifacts[0];
    assert_eq!(first.path, format!("{FOLDER}/planGraph.json"));
    assert_eq!(first.sha256.as_deref(), Some(sha256_hex(plan().as_bytes()).as_str()));
    assert!(action.additional_context[0].value.contains("dispatch plan submit"));
    assert!(action.emit_events.is_empty() && action.state_patch.is_none());
}

#[test]
fn auto_accept_puts_a_valid_plan_in_force() {
    let scene = delivered().config(json!({"autoAccept": true})).state(json!({"core": {"phase": "PLANNING"}}));
    let action = scene.handle(&PlanSubagentContract);
    let kinds: Vec<&RecordType> = action.emit_events.iter().map(|record| &record.kind).collect();
    assert_eq!(kinds, [&RecordType::PlanAccepted, &RecordType::PhaseChanged]);
    let patch = action.state_patch.expect("a patch");
    assert_eq!(patch["plan"]["currentPath"], format!("{FOLDER}/planGraph.json"));
    assert_eq!(patch["core"]["phase"], "EXECUTING");
    assert_eq!(action.register_artifacts.len(), 3);
    let done = delivered().config(json!({"autoAccept": true})).state(json!({"core": {"phase": "COMPLETE"}}));
    let action = done.handle(&PlanSubagentContract);
    assert_eq!((action.state_patch, action.warnings.len()), (None, 1));
}

#[test]
fn a_stop_is_held_up_with_the_precise_list() {
    let plan_file = format!("{FOLDER}/planGraph.json");
    let manifest_file = format!("{FOLDER}/manifest.json");
    let missing = reason(&stop());
    assert!(missing.contains("- planGraph.json does not exist") && missing.contains("- manifest.json does not exist"));
    assert!(missing.contains(FOLDER));
    let only_plan = reason(&stop().file(&plan_file, plan()));
    assert!(!only_plan.contains("planGraph.json does") && only_plan.contains("manifest.json does not exist"));
    let broken =
        reason(&stop().file(&plan_file, r#"{"version": 1, "nodes": [{"id": "a"}]}"#).file(&manifest_file, "{"));
    assert!(broken.contains("planGraph.json: nodes[0].title: is missing") && broken.contains("manifest.json: EOF"));
    let cases = [
        (json!([]), "does not list planGraph.json"),
        (json!([{"path": "planGraph.json"}, {"path": "gone.md"}]), "`gone.md` does not exist"),
        (json!([{"path": "planGraph.json", "sha256": "00"}]), "the sha256 of `planGraph.json` is"),
        (json!([{"path": "planGraph.json"}, {"path": "../x"}]), "`../x` is not a path inside"),
        (json!([{"path": "planGraph.json"}, {"path": "/etc/passwd"}]), "`/etc/passwd` is not a path inside"),
        (json!([{"path": "planGraph.json"}, {"path": ""}]), "`` is not a path inside"),
        (json!([{"file": "planGraph.json"}]), "missing field `path`"),
    ];
    for (files, expected) in cases {
        let scene = stop().file(&plan_file, plan()).file(&manifest_file, manifest(files.clone()));
        let text = reason(&scene);
        assert!(text.contains(expected), "{files}: {text}");
    }
    let version = reason(&stop().file(&plan_file, plan()).file(&manifest_file, r#"{"version": 2, "files": []}"#));
    assert!(version.contains("version must be 1"));
}

fn blocked(scene: TestInvocation) -> TestInvocation {
    scene.record(RecordType::HookRun, json!({"decision": "deny", "code": "PC01"}))
}

#[test]
fn after_two_blocks_the_plan_is_rejected() {
    let rejected = |scene: &TestInvocation| {
        let action = scene.handle(&PlanSubagentContract);
        let rejected = action.emit_events.iter().any(|record| record.kind == RecordType::PlanRejected);
        assert_eq!(rejected, action.decision.is_none());
        rejected
    };
    assert!(!rejected(&stop()));
    assert!(!rejected(&blocked(stop())));
    let last = blocked(blocked(stop()));
    assert!(rejected(&last));
    assert_eq!(last.handle(&PlanSubagentContract).emit_events[0].data["problems"][0], "planGraph.json does not exist");
    assert!(!rejected(&blocked(blocked(stop())).config(json!({"maxBlocks": 3}))));
    assert!(rejected(&stop().config(json!({"maxBlocks": 0}))));
    let other_code = stop()
        .record(RecordType::HookRun, json!({"decision": "deny", "code": "XX"}))
        .record(RecordType::HookRun, json!({"decision": "allow", "code": "PC01"}));
    assert!(!rejected(&blocked(other_code)));
    let new_run = blocked(blocked(stop())).record(RecordType::SubagentStarted, json!({}));
    assert!(!rejected(&new_run), "an earlier subagent of the same id does not count");
    let other_agent = blocked(blocked(stop().with(|scene| scene.ids.agent_id = "a02".to_owned())))
        .with(|scene| scene.ids.agent_id = "a01".to_owned());
    assert!(!rejected(&other_agent));
}

#[test]
fn a_stop_that_cannot_be_held_up_is_a_rejection_at_once() {
    let rejected = |scene: TestInvocation| {
        scene.handle(&PlanSubagentContract).emit_events.iter().any(|r| r.kind == RecordType::PlanRejected)
    };
    assert!(rejected(stop().with(|scene| scene.event.stop_hook_active = true)));
    assert!(rejected(stop().with(|scene| scene.event.host = "windsurf")));
    assert!(!rejected(stop()));
}

#[test]
fn files_of_an_earlier_run_do_not_count() {
    let old = delivered().record(RecordType::SubagentStarted, json!({}));
    assert_eq!(old.handle(&PlanSubagentContract).decision, None, "written after the start");
    let scene = delivered().record(RecordType::SubagentStarted, json!({})).with(|scene| {
        scene.view.records[0].ts = "2030-01-01T00:00:00.000Z".to_owned();
    });
    assert!(reason(&scene).contains("planGraph.json is from an earlier run"));
}
