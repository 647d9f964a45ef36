//! The call that must be refused, in the words of each host.

use crate::compose;
use crate::settings::Loaded;
use dispatch_hook_dialects::dialect::{self, Abilities, Dialect, Hints};
use dispatch_hook_module::{Decision, Effects, EventName, HookEvent, SystemClock};
use dispatch_os::{Ulid, environment};
use ext_hook_pipeline::contract::{Invocation, RuleTrust, Unwatched};
use serde_json::{Value, json};
use std::path::Path;

/// The command that is asked about. Nothing runs it, and it would remove nothing if something did.
pub(super) const COMMAND: &str = "rm -rf /dispatch-canary-does-not-exist";
/// The session that probes belong to, so that they can be told apart in the log.
const SESSION: &str = "canary";

/// One question to one host's registration.
pub(super) struct Probe {
    pub(super) dialect: &'static Dialect,
    /// The event as the host spells it.
    pub(super) event: &'static str,
    pub(super) payload: Vec<u8>,
    /// The payload as it is understood.
    pub(super) read: HookEvent,
}

impl Probe {
    /// The probe for a host; nothing if none of its events can refuse a command.
    pub(super) fn of(host: &str, root: &Path) -> Option<Self> {
        let dialect = dialect::by_name(host)?;
        let id = format!("canary-{}", Ulid::generate());
        let (event, payload) = payload(dialect.id(), &root.to_string_lossy(), &id)?;
        if !dialect.support().abilities(event).has(Abilities::DENY) {
            return None;
        }
        let payload = payload.to_string().into_bytes();
        let read = dialect::parse(&payload, Some(dialect.id()), Some(event), &hints(root)).ok()?.event;
        Some(Self { dialect, event, payload, read })
    }

    /// Why the rules of the project let the probe pass, if they do. Then a host that does so too is right.
    pub(super) fn is_let_pass(&self, root: &Path, loaded: &Loaded) -> Option<String> {
        let home = environment::variable("HOME").ok().flatten();
        let clock = SystemClock::start();
        let outcome = ext_hook_pipeline::contract::run(&Invocation {
            host: Some(self.dialect.id()),
            event: Some(self.event),
            stdin: &self.payload,
            hints: &hints(root),
            home: home.as_deref(),
            user: Some(&loaded.dirs),
            trust: RuleTrust::File(&loaded.trust_file),
            root: Some(root),
            manifest: None,
            config: None,
            modules: &compose::guards(),
            scripts: None,
            clock: &clock,
            watch: &Unwatched,
            effects: Effects::DryRun,
        });
        match outcome.report {
            Some(report) if report.decision == Decision::Deny => None,
            Some(_) => {
                Some("the rules of this project do not refuse it: is `graph-pretooluse` off, or UB01?".to_owned())
            }
            None => Some("the rules of this project cannot be read; `dispatch init` writes them".to_owned()),
        }
    }
}

fn hints(root: &Path) -> Hints {
    Hints::default().with_process_cwd(root.to_string_lossy())
}

/// The host's event before a command, and its payload.
fn payload(host: &str, cwd: &str, id: &str) -> Option<(&'static str, Value)> {
    let nested = |tool: &str| {
        json!({
            "session_id": SESSION, "cwd": cwd, "hook_event_name": EventName::PreToolUse.as_str(),
            "tool_name": tool, "tool_input": {"command": COMMAND}, "tool_use_id": id,
        })
    };
    let with = |mut value: Value, more: Value| {
        if let (Value::Object(fields), Value::Object(more)) = (&mut value, more) {
            fields.extend(more);
        }
        value
    };
    Some(match host {
        "vscode-copilot" => ("PreToolUse", nested("run_in_terminal")),
        "claude-code" => ("PreToolUse", with(nested("Bash"), json!({"permission_mode": "default", "prompt_id": id}))),
        "copilot-cli" => ("PreToolUse", nested("Bash")),
        "cursor" => (
            "preToolUse",
            with(
                nested("Shell"),
                json!({
                    "hook_event_name": "preToolUse", "conversation_id": SESSION, "generation_id": id,
                    "cursor_version": "0.0.0", "workspace_roots": [cwd],
                }),
            ),
        ),
        "gemini-cli" => ("BeforeTool", with(nested("run_shell_command"), json!({"hook_event_name": "BeforeTool"}))),
        "qwen-code" => ("PreToolUse", nested("run_shell_command")),
        "codex" => ("PreToolUse", with(nested("Bash"), json!({"turn_id": id}))),
        "windsurf" => (
            "pre_run_command",
            json!({
                "agent_action_name": "pre_run_command", "trajectory_id": SESSION, "execution_id": id,
                "tool_info": {"command_line": COMMAND, "cwd": cwd},
            }),
        ),
        "devin" => ("PreToolUse", nested("exec")),
        "cline" => (
            "PreToolUse",
            json!({
                "clineVersion": "0.0.0", "hookName": "PreToolUse", "taskId": SESSION, "workspaceRoots": [cwd],
                "preToolUse": {"toolName": "execute_command", "parameters": {"command": COMMAND}},
            }),
        ),
        "kiro" => ("PreToolUse", nested("execute_bash")),
        "factory-droid" => ("PreToolUse", nested("Execute")),
        "crush" => (
            "PreToolUse",
            json!({
                "event": "PreToolUse", "session_id": SESSION, "cwd": cwd,
                "tool_name": "bash", "tool_input": {"command": COMMAND},
            }),
        ),
        "goose" => (
            "PreToolUse",
            json!({
                "event": "PreToolUse", "session_id": SESSION, "matcher_context": "shell",
                "tool_name": "shell", "tool_input": {"command": COMMAND}, "working_dir": cwd,
            }),
        ),
        "opencode" => (
            "tool.execute.before",
            json!({
                "input": {"tool": "bash", "sessionID": SESSION, "callID": id},
                "output": {"args": {"command": COMMAND}}, "cwd": cwd,
            }),
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::init::hosts;
    use dispatch_hook_module::{classify, sid};

    #[test]
    fn every_host_is_asked_about_the_same_command_in_the_same_session() {
        for host in hosts::all() {
            let probe = Probe::of(host, Path::new("/repo")).unwrap_or_else(|| panic!("{host}"));
            assert_eq!(probe.read.name, EventName::PreToolUse, "{host}");
            assert_eq!(probe.read.session_id.as_deref(), Some(SESSION), "{host}");
            assert_eq!(sid(&probe.read).len(), 8);
            let call = classify(&probe.read, None).unwrap_or_else(|| panic!("{host}"));
            assert_eq!(call.command.as_deref(), Some(COMMAND), "{host}");
            let detected = dialect::parse(&probe.payload, Some(host), Some(probe.event), &Hints::default()).unwrap();
            assert_eq!(detected.dialect.id(), host, "the payload is this host's own");
        }
    }

    #[test]
    fn two_probes_are_two_calls() {
        let root = Path::new("/repo");
        let ids: Vec<_> = (0..2).map(|_| Probe::of("claude-code", root).unwrap().read.tool_use_id).collect();
        assert_ne!(ids[0], ids[1]);
    }
}
