//! What the pipeline and its modules read from disk, damaged in every way.

use super::answer_check::{FiredEvent, check_answer};
use super::fuzz;
use super::payload_generator::PayloadGenerator;
use super::payloads::MANIFEST;
use dispatch_support::TestContext;
use serde_json::{Value, json};

const SID: &str = ".ai/tmp/ba7816bf";

/// Every file that is read, with a valid content.
fn files() -> Vec<(String, Vec<u8>)> {
    let text = |value: Value| value.to_string().into_bytes();
    let plan = json!({"version": 1, "nodes": [
        {"id": "a", "title": "A", "scope": ["src/**"], "dependsOn": [], "tools": ["kind:write"], "validations": ["true"]},
        {"id": "b", "title": "B", "scope": ["docs/*.md"], "dependsOn": ["a"], "decision": "use X"}]});
    let policy = json!({"rules": [{"id": "r", "match": {"tools": ["Bash"], "kinds": ["execute"], "paths": ["src/**"],
        "command": "^make", "bytesOver": 10, "callsPerTurnOver": 1}, "require": {"subagent": ["coder"],
        "output": {"glob": "*.json", "schema": {"type": "object"}}}, "action": "deny", "message": "m"}]});
    let rules = json!({"rules": [{"id": "f", "when": {"event": "PreToolUse", "tools": ["Bash"], "kinds": ["execute"],
        "paths": ["**"], "command": "l.", "result": "err", "phase": "PLANNING"}, "inject": "{tool} {path} {command}",
        "once": "turn", "priority": 3}]});
    let config = json!({"prompts": "text", "redact": {"patterns": ["A[0-9]+", {"name": "n", "regex": "b+"}], "allow": ["b"]},
        "session": {"newWorkOn": ["^/new"], "stampInput": true}, "graph-pretooluse": {"rules": {"UB01": "ask"}, "maxFiles": 5},
        "planGraph-exec": {"mode": "deny", "maxCount": 5}, "plan-subagent-contract": {"maxBlocks": 1, "autoAccept": true},
        "memory-activation": {"maxChars": 10}, "stop-synth": {}, "memory-journal": {}, "rlm-work": {}});
    let state = json!({"core": {"sessionId": "ba7816bf", "workId": "w001", "lastTurnId": 3, "phase": "EXECUTING", "phaseTs": 5,
        "agents": {"p1": "a01"}}, "plan": {"currentPath": ".ai/plan/planGraph.json", "mtime": 1, "hash": "x",
        "nodes": {"a": "completed"}}, "cap": {"neo4j": {"enabled": true, "reachable": false, "lastCheckTs": 7}}});
    let record = json!({"v": 1, "id": "01", "ts": "2026-01-02T03:04:05.678Z", "hookRunId": "PreToolUse-3-1", "sessionId":
        "ba7816bf", "workId": "w001", "agentId": "u00", "turnId": 3, "event": "PreToolUse", "type": "HOOK_RUN", "module":
        "pipeline", "decision": "deny", "ms": 1.5, "delivery": "0123456789abcdef", "data": {"code": "UB01", "statePatch":
        {"core": {"lastTurnId": 3}}, "answer": {"verdict": "deny", "reason": "r"}}});
    let soon = json!({"exceptions": [{"code": "UB01", "until": "2099-01-01T00:00:00.000Z", "reason": "x"}]});
    let log: Vec<u8> =
        [b"HOOK_RUN".as_slice(), b"TOOL_CALL", b"TOOL_RESULT", b"PROMPT", b"RLM_REQUIRED", b"PLAN_ACCEPTED"]
            .iter()
            .flat_map(|kind| {
                let mut line = record.clone();
                line["type"] = json!(String::from_utf8_lossy(kind));
                format!("{line}\n").into_bytes()
            })
            .collect();
    vec![
        (".ai/hooks/dispatch.manifest.json".to_owned(), MANIFEST.into()),
        (".ai/hooks/config.json".to_owned(), text(config)),
        (".ai/hooks/rlm-policy.json".to_owned(), text(policy)),
        (".ai/hooks/followup-rules.json".to_owned(), text(rules)),
        (".ai/plan/planGraph.json".to_owned(), text(plan.clone())),
        (".ai/tmp/exceptions.json".to_owned(), text(soon)),
        (format!("{SID}/state.json"), text(state)),
        (format!("{SID}/events.jsonl"), log),
        (format!("{SID}/p.jsonl"), text(json!({"text": "use pnpm", "turnId": 3}))),
        (format!("{SID}/locks/runs"), b"1794790280477       ".to_vec()),
        (format!("{SID}/memory-journal/output/experience.jsonl"), text(json!({"kind": "prompt", "text": "x"}))),
        (
            format!("{SID}/memory-journal/output/candidates.json"),
            text(json!({"candidates": [{"id": "mem-1", "count": 2}]})),
        ),
        (format!("{SID}/plan-subagent-contract/output/sa/Plan/a01/planGraph.json"), text(plan)),
        (
            format!("{SID}/plan-subagent-contract/output/sa/Plan/a01/manifest.json"),
            text(json!({"version": 1, "files": [{"path": "planGraph.json"}]})),
        ),
        (".git/HEAD".to_owned(), b"ref: refs/heads/main\n".to_vec()),
    ]
}

/// Events that between them make every module read its files.
fn events() -> [(&'static str, Value); 7] {
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf /srv; grep -r x ."}, "tool_use_id": "1"});
    let mut result = call.clone();
    result["tool_response"] = json!({"exit_code": 1, "stderr": "err"});
    [
        ("SessionStart", json!({"source": "resume"})),
        ("UserPromptSubmit", json!({"prompt": "/new always use A1"})),
        ("PreToolUse", call),
        ("PostToolUse", result),
        ("SubagentStop", json!({"agent_id": "p1", "agent_type": "Plan"})),
        ("PreCompact", json!({})),
        ("Stop", json!({})),
    ]
}

fn fire(context: &TestContext, generator: &mut PayloadGenerator) {
    let events = events();
    let (event, more) = generator.one_of(&events);
    let mut payload = json!({"session_id": "abc", "hook_event_name": event, "cwd": context.project()});
    for (name, value) in more.as_object().unwrap() {
        payload[name] = value.clone();
    }
    check_answer(context, &FiredEvent { host: "claude-code", event, stdin: payload.to_string().as_bytes() });
}

#[test]
fn any_content_of_any_file_gets_a_valid_answer() {
    let files = files();
    fuzz(500, move |generator| {
        let context = TestContext::new();
        let damaged = generator.below(files.len());
        for (number, (path, content)) in files.iter().enumerate() {
            let damage = number == damaged || generator.happens(10);
            let content = if damage { generator.nonsense(content) } else { content.clone() };
            if damage && generator.happens(3) {
                std::fs::create_dir_all(context.project().join(path)).unwrap();
            } else {
                context.write(path, content);
            }
        }
        fire(&context, generator);
        fire(&context, generator);
    });
}
