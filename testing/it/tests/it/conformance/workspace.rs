//! A workspace, a host that speaks the native dialect, and what both leave on disk.

use dispatch_support::{Output, TestContext};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The host's session and the short id that follows from it.
pub(crate) const HOST_SESSION: &str = "abc";
pub(crate) const SID: &str = "ba7816bf";

/// What a loaded machine needs; tests of budgets set their own.
const GENEROUS_MS: u64 = 60_000;

const EVENTS: [&str; 8] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "Stop",
    "SubagentStart",
    "SubagentStop",
];

/// One workspace with rules.
pub(crate) struct PipelineWorkspace {
    pub(crate) context: TestContext,
}

impl PipelineWorkspace {
    /// In which these modules run.
    pub(crate) fn with(modules: &[&str]) -> Self {
        Self::ruled_by(&json!({ "modules": modules }))
    }

    /// With this manifest; budgets that it leaves out are generous.
    pub(crate) fn ruled_by(manifest: &Value) -> Self {
        let workspace = Self { context: TestContext::new() };
        workspace.rule(manifest);
        workspace
    }

    /// Changes the manifest.
    pub(crate) fn rule(&self, manifest: &Value) {
        let mut manifest = manifest.clone();
        manifest["version"] = json!(1);
        for event in EVENTS {
            if manifest["budgets"][event].is_null() {
                manifest["budgets"][event] = json!(GENEROUS_MS);
            }
        }
        self.context.write(".ai/hooks/dispatch.manifest.json", manifest.to_string());
    }

    /// Writes `config.json`.
    pub(crate) fn configure(&self, config: &Value) {
        self.context.write(".ai/hooks/config.json", config.to_string());
    }

    /// Writes the plan of the workspace.
    pub(crate) fn plan(&self, nodes: &Value) {
        self.context.write(".ai/plan/planGraph.json", json!({"version": 1, "nodes": nodes}).to_string());
    }

    /// Writes a script module that runs before tool calls, and approves it. `flags` are further
    /// fields of the module, `body` is the body of its `handle(eventName, ctx)`.
    pub(crate) fn script(&self, name: &str, flags: &str, body: &str) {
        let source = format!(
            "export default {{ name: '{name}', supports: new Set(['PreToolUse']), hotPathSafe: true, {flags} \
             async handle(eventName, ctx) {{ {body} }} }};\n"
        );
        self.source(name, &source);
    }

    /// Writes the source of a script module, and approves it.
    pub(crate) fn source(&self, name: &str, source: &str) {
        self.context.write(format!(".ai/hooks/features/{name}/hook.mjs"), source);
        assert_eq!(self.context.dispatch(&["trust", "--all"]).status, 0);
    }

    /// What a host writes to standard input.
    pub(crate) fn payload(&self, event: &str, more: &Value) -> Value {
        let mut payload = json!({"session_id": HOST_SESSION, "hook_event_name": event, "cwd": self.context.project()});
        for (name, value) in more.as_object().cloned().unwrap_or_default() {
            payload[name] = value;
        }
        payload
    }

    /// Fires an event, whatever becomes of it.
    pub(crate) fn raw(&self, event: &str, stdin: &[u8]) -> Output {
        self.context.run("dispatch-hook", &[event, "--host", "native"], stdin, &[])
    }

    /// Fires an event; the answer.
    pub(crate) fn fire(&self, event: &str, more: &Value) -> Value {
        let output = self.raw(event, self.payload(event, more).to_string().as_bytes());
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
        output.json()
    }

    /// A tool call that is about to run; the answer.
    pub(crate) fn call(&self, tool: &str, input: &Value) -> Value {
        self.fire("PreToolUse", &json!({"tool_name": tool, "tool_input": input}))
    }

    /// A command that is about to run; the answer.
    pub(crate) fn bash(&self, command: &str) -> Value {
        self.call("Bash", &json!({ "command": command }))
    }

    /// The decision about a command.
    pub(crate) fn decision(&self, command: &str) -> String {
        self.bash(command)["decision"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn prompt(&self, text: &str) -> Value {
        self.fire("UserPromptSubmit", &json!({ "prompt": text }))
    }

    /// Every event once, in the order of a session.
    pub(crate) fn whole_session(&self) {
        self.fire("SessionStart", &json!({"source": "startup"}));
        self.prompt("Always use pnpm. Decision: we use SQLite.");
        self.fire("SubagentStart", &json!({"agent_id": "p1", "agent_type": "Plan"}));
        self.fire("SubagentStop", &json!({"agent_id": "p1", "agent_type": "Plan"}));
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "cat a.txt"}, "tool_use_id": "t1"});
        self.fire("PreToolUse", &call);
        let mut result = call;
        result["tool_response"] = json!({"exit_code": 1, "stderr": "no such file"});
        self.fire("PostToolUse", &result);
        self.fire("PreCompact", &json!({"trigger": "auto"}));
        self.fire("Stop", &json!({}));
    }

    /// The folder of the session.
    pub(crate) fn session(&self) -> PathBuf {
        self.context.project().join(".ai/tmp").join(SID)
    }

    /// The text of a file of the session; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.session().join(name)).unwrap_or_default()
    }

    /// The lines of a log of the session, each of which must be JSON.
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        let line = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.text(name).lines().map(line).collect()
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        self.lines("events.jsonl")
    }

    /// The records of one type.
    pub(crate) fn of_type(&self, kind: &str) -> Vec<Value> {
        self.records().into_iter().filter(|record| record["type"] == kind).collect()
    }

    /// The newest `HOOK_RUN` record.
    pub(crate) fn last_run(&self) -> Value {
        self.of_type("HOOK_RUN").pop().expect("a run")
    }

    /// The modules that ran last, in order.
    pub(crate) fn last_modules(&self) -> Vec<String> {
        let run = self.last_run();
        let modules = run["data"]["modules"].as_array().cloned().unwrap_or_default();
        modules.iter().map(|module| module["name"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(crate) fn state(&self) -> Value {
        serde_json::from_str(&self.text("state.json")).unwrap_or_default()
    }

    /// All files below a folder of the project, relative to it.
    pub(crate) fn files(&self, folder: &str) -> BTreeSet<String> {
        let base = self.context.project().join(folder);
        let mut found = BTreeSet::new();
        walk(&base, &base, &mut found);
        found
    }
}

/// SHA-256 in hex, worked out apart from the code under test.
pub(crate) fn sha256_hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn walk(folder: &Path, base: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, base, found);
        } else if let Ok(relative) = path.strip_prefix(base) {
            found.insert(relative.to_string_lossy().into_owned());
        }
    }
}
