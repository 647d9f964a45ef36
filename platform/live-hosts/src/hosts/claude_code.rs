//! Claude Code, which speaks the messages protocol.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, NpmPackage, RunPlace, mode, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct ClaudeCode;

impl HostDriver for ClaudeCode {
    fn id(&self) -> &'static str {
        "claude-code"
    }

    fn program(&self) -> &'static str {
        "claude"
    }

    fn package(&self) -> NpmPackage {
        NpmPackage { name: "@anthropic-ai/claude-code", version: "2.1.325", program: ".bin/claude" }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[
            mode("default", &[]),
            mode("plan", &["--permission-mode", "plan"]),
            mode("dontAsk", &["--permission-mode", "dontAsk"]),
            mode("acceptEdits", &["--permission-mode", "acceptEdits"]),
            mode("bypassPermissions", &["--permission-mode", "bypassPermissions"]),
        ];
        MODES
    }

    fn configuration(&self, _: &RunPlace) -> Vec<(PathBuf, String)> {
        Vec::new()
    }

    fn variables(&self, place: &RunPlace) -> Vec<(&'static str, String)> {
        vec![
            ("ANTHROPIC_BASE_URL", place.model_url.clone()),
            ("ANTHROPIC_API_KEY", "scripted".to_owned()),
            // Without it the administrator of a machine cannot use bypassPermissions.
            ("IS_SANDBOX", "1".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ]
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        words(&["-p", prompt, "--model", "claude-sonnet-4-5"])
    }

    fn shell(&self, command: &str) -> ModelStep {
        ModelStep::call("Bash", json!({ "command": command, "description": "a step" }))
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        ModelStep::call("Write", json!({ "file_path": place.in_workspace(path), "content": text }))
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".claude/settings.local.json", r#"{"disableAllHooks": true}"#)
    }
}
