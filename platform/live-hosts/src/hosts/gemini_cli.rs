//! Gemini CLI, which speaks `generateContent`.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, NpmPackage, RunPlace, mode, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct GeminiCli;

impl HostDriver for GeminiCli {
    fn id(&self) -> &'static str {
        "gemini-cli"
    }

    fn program(&self) -> &'static str {
        "gemini"
    }

    fn package(&self) -> NpmPackage {
        NpmPackage { name: "@google/gemini-cli", version: "0.61.0", program: ".bin/gemini" }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[
            mode("default", &[]),
            mode("plan", &["--approval-mode", "plan"]),
            mode("auto_edit", &["--approval-mode", "auto_edit"]),
            mode("yolo", &["--approval-mode", "yolo"]),
        ];
        MODES
    }

    fn configuration(&self, place: &RunPlace) -> Vec<(PathBuf, String)> {
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            "privacy": { "usageStatisticsEnabled": false },
        });
        vec![place.home_file(".gemini/settings.json", &settings)]
    }

    fn variables(&self, place: &RunPlace) -> Vec<(&'static str, String)> {
        vec![
            ("GEMINI_API_KEY", "scripted".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", place.model_url.clone()),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
        ]
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        words(&["-p", prompt, "-m", "gemini-2.5-flash"])
    }

    fn shell(&self, command: &str) -> ModelStep {
        ModelStep::call("run_shell_command", json!({ "command": command, "description": "a step" }))
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        ModelStep::call("write_file", json!({ "file_path": place.in_workspace(path), "content": text }))
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".gemini/settings.json", r#"{"hooksConfig": {"enabled": false}}"#)
    }
}
