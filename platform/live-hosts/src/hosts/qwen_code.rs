//! Qwen Code, which speaks chat completions.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, MODEL, NpmPackage, RunPlace, mode, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct QwenCode;

impl HostDriver for QwenCode {
    fn id(&self) -> &'static str {
        "qwen-code"
    }

    fn program(&self) -> &'static str {
        "qwen"
    }

    fn package(&self) -> NpmPackage {
        NpmPackage { name: "@qwen-code/qwen-code", version: "0.15.10", program: ".bin/qwen" }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[
            mode("default", &[]),
            mode("plan", &["--approval-mode", "plan"]),
            mode("auto-edit", &["--approval-mode", "auto-edit"]),
            mode("yolo", &["--approval-mode", "yolo"]),
        ];
        MODES
    }

    fn configuration(&self, place: &RunPlace) -> Vec<(PathBuf, String)> {
        let settings = json!({
            "security": { "auth": { "selectedType": "openai" } },
            "privacy": { "usageStatisticsEnabled": false },
            "general": { "enableAutoUpdate": false },
        });
        vec![place.home_file(".qwen/settings.json", &settings)]
    }

    fn variables(&self, place: &RunPlace) -> Vec<(&'static str, String)> {
        vec![
            ("OPENAI_API_KEY", "scripted".to_owned()),
            ("OPENAI_BASE_URL", format!("{}/v1", place.model_url)),
            ("OPENAI_MODEL", MODEL.to_owned()),
            // It sends requests to this machine through a proxy too.
            ("HTTPS_PROXY", String::new()),
            ("https_proxy", String::new()),
        ]
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        words(&["-p", prompt])
    }

    fn shell(&self, command: &str) -> ModelStep {
        let arguments = json!({ "command": command, "description": "a step", "is_background": false });
        ModelStep::call("run_shell_command", arguments)
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        ModelStep::call("write_file", json!({ "file_path": place.in_workspace(path), "content": text }))
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".qwen/settings.json", r#"{"disableAllHooks": true}"#)
    }
}
