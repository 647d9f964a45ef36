//! Fifty sessions of two hosts at once, two thousand calls with real writes: the ledger misses nothing.

use crate::intents_host::{Host, commit_all, entries, shell, workspace};
use dispatch_hook_dialects::dialect::Hints;
use dispatch_hook_module::{Effects, SystemClock};
use dispatch_support::TestContext;
use ext_hook_pipeline::contract::{Invocation, Unwatched, native_modules, run};
use ext_intents::contract::{ScopeValidation, module};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

const SESSIONS: usize = 50;
const CALLS_EACH: usize = 40;
const THREADS: usize = 4;
/// Every so many calls go through the real executable; the others through the same code in this process.
const REAL_EVERY: usize = 10;
/// Every so many calls are commands, whose changes are found by comparing the tree.
const COMMAND_EVERY: usize = 20;
/// Files that every session writes.
const SHARED: usize = 4;

const CLAUDE_BEFORE: &str =
    include_str!("../../../../platform/hook-dialects/testdata/fixtures/claude-code/PostToolUse.Write.json");
const COPILOT_BEFORE: &str =
    include_str!("../../../../platform/hook-dialects/testdata/fixtures/vscode-copilot/PreToolUse.create_file.json");
const COPILOT_AFTER: &str =
    include_str!("../../../../platform/hook-dialects/testdata/fixtures/vscode-copilot/PostToolUse.json");

struct ConcurrentSession<'c> {
    host: Host<'c>,
    number: usize,
    calls: usize,
}

impl ConcurrentSession<'_> {
    fn event(&self, event: &str, id: &str, tool: &str, input: &Value) -> Value {
        let fixture = match (self.host.name, event) {
            ("claude-code", _) => CLAUDE_BEFORE,
            (_, "PreToolUse") => COPILOT_BEFORE,
            _ => COPILOT_AFTER,
        };
        let mut payload: Value = serde_json::from_str(fixture).expect("a fixture");
        if event == "PreToolUse" {
            payload.as_object_mut().expect("an object").remove("tool_response");
        } else {
            payload["tool_response"] = json!("done");
        }
        let transcript = format!("/home/dev/{}.jsonl", self.host.session);
        let fields = [
            ("hook_event_name", json!(event)),
            ("session_id", json!(self.host.session)),
            ("transcript_path", json!(transcript)),
            ("cwd", json!(self.host.context.project())),
            ("tool_name", json!(tool)),
            ("tool_input", input.clone()),
            ("tool_use_id", json!(id)),
        ];
        for (name, value) in fields {
            payload[name] = value;
        }
        payload
    }

    fn fire(&self, event: &str, id: &str, tool: &str, input: &Value) {
        let payload = self.event(event, id, tool, input).to_string();
        let text = if self.calls.is_multiple_of(REAL_EVERY) {
            let arguments = [event, "--host", self.host.name];
            self.host.context.run("dispatch-hook", &arguments, payload.as_bytes(), &[]).stdout
        } else {
            let mut modules = native_modules();
            modules.push(module());
            let hints = Hints::collect(|_| None);
            let outcome = run(&Invocation {
                host: Some(self.host.name),
                event: Some(event),
                stdin: payload.as_bytes(),
                hints: &hints,
                home: None,
                user: None,
                trust: ext_hook_pipeline::contract::RuleTrust::Everything,
                root: None,
                manifest: None,
                config: None,
                modules: &modules,
                scripts: None,
                clock: &SystemClock::start(),
                watch: &Unwatched,
                effects: Effects::Commit,
            });
            assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
            String::from_utf8_lossy(&outcome.reply.stdout).into_owned()
        };
        assert!(!text.contains("\"deny\""), "{text}");
    }

    fn step(&mut self) {
        let id = format!("{}-{}", self.number, self.calls);
        let content = format!("call {id}\n");
        let own = format!("src/weather/s{}-{}.txt", self.number, self.calls % 3);
        let path = if self.calls % 5 == 4 { format!("src/weather/shared{}.txt", self.calls % SHARED) } else { own };
        let is_command = self.calls % COMMAND_EVERY == COMMAND_EVERY - 1;
        let claude = self.host.name == "claude-code";
        let file = self.host.path(&path);
        let command = format!("printf '%s\\n' 'call {id}' > {path}");
        let (tool, input) = match (is_command, claude) {
            (true, true) => ("Bash", json!({ "command": command })),
            (true, false) => ("run_in_terminal", json!({ "command": command })),
            (false, true) => ("Write", json!({"file_path": file, "content": content})),
            (false, false) => ("create_file", json!({"filePath": file, "content": content})),
        };
        self.fire("PreToolUse", &id, tool, &input);
        if is_command {
            assert!(shell(self.host.context, &command));
        } else {
            self.host.context.write(&path, content);
        }
        self.fire("PostToolUse", &id, tool, &input);
        self.calls += 1;
    }
}

fn sessions(context: &TestContext) -> Vec<ConcurrentSession<'_>> {
    let session = |number: usize| {
        let name = if number.is_multiple_of(2) { "claude-code" } else { "vscode-copilot" };
        let host = Host { context, name, session: format!("session-{number}") };
        ConcurrentSession { host, number, calls: 0 }
    };
    (0..SESSIONS).map(session).collect()
}

#[test]
fn two_thousand_interleaved_calls_leave_a_complete_ledger() {
    let context = workspace(&["session", "intents"]);
    commit_all(&context);
    let all = sessions(&context);
    for session in &all {
        session.host.select("INT-002");
    }
    let queue: Mutex<std::collections::VecDeque<ConcurrentSession<'_>>> = Mutex::new(all.into());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("the queue").pop_front();
                    let Some(mut session) = next else { break };
                    session.step();
                    if session.calls < CALLS_EACH {
                        queue.lock().expect("the queue").push_back(session);
                    }
                }
            });
        }
    });
    let found = entries(&context);
    let mut last: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut calls = BTreeSet::new();
    for entry in &found {
        let file = entry.file.as_ref().expect("a file");
        assert_eq!(entry.scope_validation, ScopeValidation::Pass, "{entry:?}");
        calls.extend(entry.tool_use_id.clone());
        last.insert(file.relative_path.clone(), file.post_hash.clone());
    }
    let expected: BTreeSet<String> =
        (0..SESSIONS).flat_map(|session| (0..CALLS_EACH).map(move |call| format!("{session}-{call}"))).collect();
    let missing: Vec<_> = expected.difference(&calls).collect();
    assert!(missing.is_empty(), "{} calls are missing: {:?}", missing.len(), &missing[..missing.len().min(5)]);
    assert!(last.len() >= SESSIONS * 3);
    for (path, hash) in last {
        let content = std::fs::read(context.project().join(&path)).expect("the file");
        assert_eq!(hash, Some(ext_intents::contract::testing::content_hash(&content)), "{path}");
    }
    let calls = std::fs::read_dir(crate::intents_host::orchestration(&context).join(".trace/calls")).expect("a folder");
    let left = calls
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().extension().is_some_and(|end| end == "json")));
    let left = left.count();
    assert_eq!(left, 0, "no call is left in flight");
}
