//! A workspace with intents and agents of two hosts in it, for the tests about intents.

use dispatch_support::TestContext;
use ext_intents::contract::TraceEntry;
use ext_intents::contract::testing::{chained_entries, content_hash, readable_entries};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Two open intents with their own folders and a closed one that would own everything.
pub(crate) const INTENTS: &str = r#"active_intents:
  - id: INT-001
    name: Hooks
    status: IN_PROGRESS
    owned_scope: ["src/hooks/**"]
    kind: feature
  - id: INT-002
    name: Weather
    status: PLANNED
    owned_scope: ["src/weather/**", "shared.txt"]
    kind: fix
  - id: INT-003
    name: Done
    status: COMPLETED
    owned_scope: ["**"]
"#;

/// A project with intents and room for a loaded machine: what is tested is not the budget.
pub(crate) fn workspace(modules: &[&str]) -> TestContext {
    let context = TestContext::new();
    let budgets = json!({"PreToolUse": 60_000, "PostToolUse": 60_000, "SessionStart": 60_000, "Stop": 60_000});
    let manifest = json!({"version": 1, "modules": modules, "budgets": budgets});
    context.write(".ai/hooks/dispatch.manifest.json", manifest.to_string());
    context.write(".orchestration/active_intents.yaml", INTENTS);
    context
}

/// Makes the project a repository with everything in it committed.
pub(crate) fn commit_all(context: &TestContext) {
    context.write(".gitignore", ".ai/tmp\n");
    let _ = std::fs::remove_dir_all(context.project().join(".git"));
    shell(context, "git init -q -b main && git add -A && git commit -qm first");
}

/// No network, no other processes, no root privileges outside.
const FENCE: [&str; 7] = ["unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"];

/// Whether commands run behind a fence here.
pub(crate) fn is_fenced() -> bool {
    static FENCED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *FENCED.get_or_init(|| {
        let run = Command::new(FENCE[0]).args(&FENCE[1..]).arg("true").stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    })
}

/// Runs a command in the project as an agent's tool would.
pub(crate) fn shell(context: &TestContext, command: &str) -> bool {
    let variables = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    let fence: &[&str] = if is_fenced() { &FENCE } else { &[] };
    Command::new("timeout")
        .args(["--signal=KILL", "5"])
        .args(fence)
        .args(["bash", "-c", command])
        .current_dir(context.project())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", context.home())
        .envs(variables.iter().map(|name| (name, "t")))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The folder of the intents and the ledger.
pub(crate) fn orchestration(context: &TestContext) -> PathBuf {
    context.project().join(".orchestration")
}

/// The entries of the ledger, whose chain must be intact.
pub(crate) fn entries(context: &TestContext) -> Vec<TraceEntry> {
    chained_entries(&context.project()).expect("a whole ledger")
}

/// The entries of one call, whether the lines before them are intact or not.
pub(crate) fn entries_of(context: &TestContext, id: &str) -> Vec<TraceEntry> {
    let all = readable_entries(&context.project()).expect("the ledger");
    all.into_iter().filter(|entry| entry.tool_use_id.as_deref() == Some(id)).collect()
}

/// One session of one host.
pub(crate) struct Host<'c> {
    pub(crate) context: &'c TestContext,
    pub(crate) name: &'static str,
    pub(crate) session: String,
}

impl<'c> Host<'c> {
    pub(crate) fn claude(context: &'c TestContext, session: &str) -> Self {
        Self { context, name: "claude-code", session: session.to_owned() }
    }

    pub(crate) fn fire(&self, event: &str, more: &Value) -> Value {
        let payload = self.payload(event, more);
        let arguments = [event, "--host", self.name];
        let output = self.context.run("dispatch-hook", &arguments, payload.to_string().as_bytes(), &[]);
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
        serde_json::from_str(&output.stdout).unwrap_or(Value::Null)
    }

    pub(crate) fn payload(&self, event: &str, more: &Value) -> Value {
        let cwd = self.context.project();
        let mut payload = json!({"session_id": self.session, "hook_event_name": event, "cwd": cwd});
        for (name, value) in more.as_object().cloned().unwrap_or_default() {
            payload[name] = value;
        }
        payload
    }

    /// Why a call is denied before it runs; `None` if it may run.
    pub(crate) fn denied(&self, tool: &str, id: &str, input: &Value) -> Option<String> {
        let answer = self.fire("PreToolUse", &json!({"tool_name": tool, "tool_input": input, "tool_use_id": id}));
        let output = &answer["hookSpecificOutput"];
        (output["permissionDecision"] == "deny").then(|| output["permissionDecisionReason"].to_string())
    }

    /// Reports the end of a call; returns what the agent is told about it.
    pub(crate) fn ended(&self, tool: &str, id: &str, input: &Value, response: &Value) -> String {
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id, "tool_response": response});
        self.fire("PostToolUse", &call)["hookSpecificOutput"]["additionalContext"].to_string()
    }

    pub(crate) fn select(&self, intent: &str) {
        let tool = "mcp__dispatch__select_active_intent";
        // An id that was seen before would be taken for the same call delivered again.
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let id = format!("select-{}", CALLS.fetch_add(1, Ordering::Relaxed));
        let input = json!({ "intent_id": intent });
        assert_eq!(self.denied(tool, &id, &input), None);
        self.ended(tool, &id, &input, &json!([{"type": "text", "text": "selected"}]));
    }

    /// A file written by the host's own tool, with both events around it.
    pub(crate) fn write(&self, id: &str, path: &str, content: &str) -> Option<String> {
        let file = self.path(path);
        let input = json!({"file_path": file, "content": content});
        if let Some(reason) = self.denied("Write", id, &input) {
            return Some(reason);
        }
        self.context.write(path, content);
        self.ended("Write", id, &input, &json!({"success": true}));
        None
    }

    /// A command with both events around it; why it was denied, or what the agent is told afterwards.
    pub(crate) fn run(&self, id: &str, command: &str) -> Result<String, String> {
        let input = json!({ "command": command });
        if let Some(reason) = self.denied("Bash", id, &input) {
            return Err(reason);
        }
        let ok = shell(self.context, command);
        Ok(self.ended("Bash", id, &input, &json!({"stdout": "", "stderr": "", "exit_code": i32::from(!ok)})))
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.context.project().join(path)
    }

    /// The session's log.
    pub(crate) fn records(&self) -> Vec<Value> {
        let id = session_folder(&self.session);
        let log = self.context.project().join(".ai/tmp").join(id).join("events.jsonl");
        let text = std::fs::read_to_string(log).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let records = self.records();
        let warnings = records.iter().filter(|record| record["type"] == "WARNING");
        warnings.filter(|record| record["module"] == "intents").map(|record| record["data"].to_string()).collect()
    }
}

/// The name of a session's folder.
pub(crate) fn session_folder(session: &str) -> String {
    content_hash(session.as_bytes()).replace("sha256:", "").chars().take(8).collect()
}
