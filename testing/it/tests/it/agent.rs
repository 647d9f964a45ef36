//! A stand-in for a coding agent: fires hook events of Claude Code at the real executable.

use dispatch_support::{Output, TestContext};
use serde_json::{Value, json};

/// One session of an agent in the project of a test.
pub(crate) struct Agent<'c> {
    context: &'c TestContext,
    session: &'static str,
}

impl<'c> Agent<'c> {
    /// In a project with the default rules.
    pub(crate) fn new(context: &'c TestContext, session: &'static str) -> Self {
        context.write(".ai/hooks/.gitkeep", "");
        Self { context, session }
    }

    pub(crate) fn payload(&self, event: &str, more: &Value) -> Vec<u8> {
        let mut payload = json!({"session_id": self.session, "hook_event_name": event, "cwd": self.context.project()});
        for (name, value) in more.as_object().cloned().unwrap_or_default() {
            payload[name] = value;
        }
        payload.to_string().into_bytes()
    }

    pub(crate) fn fire(&self, event: &str, more: &Value) -> Output {
        let output =
            self.context.run("dispatch-hook", &[event, "--host", "claude-code"], &self.payload(event, more), &[]);
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{output:?}");
        output
    }

    pub(crate) fn prompt(&self, text: &str) {
        self.fire("UserPromptSubmit", &json!({ "prompt": text }));
    }

    /// A command that is about to run; the answer for the host.
    pub(crate) fn command(&self, id: &str, command: &str) -> Value {
        self.before("Bash", id, &json!({ "command": command }))
    }

    /// A tool call that is about to run; the answer for the host.
    pub(crate) fn before(&self, tool: &str, id: &str, input: &Value) -> Value {
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": id});
        self.fire("PreToolUse", &call).json()
    }

    /// A call that the agent's own guard asks the user about.
    pub(crate) fn edit_rules(&self, id: &str) -> Value {
        let file = self.context.project().join(".ai/hooks/config.json");
        self.before("Write", id, &json!({"file_path": file, "content": "{}"}))
    }
}

/// The session ids are the first digits of the hash of the host's own.
pub(crate) const ABC: &str = "ba7816bf";
