//! GitHub Copilot CLI, which speaks chat completions to a model of the user's own.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, NpmPackage, RunPlace, mode, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct CopilotCli;

impl HostDriver for CopilotCli {
    fn id(&self) -> &'static str {
        "copilot-cli"
    }

    fn program(&self) -> &'static str {
        "copilot"
    }

    fn package(&self) -> NpmPackage {
        NpmPackage { name: "@github/copilot", version: "1.0.102", program: ".bin/copilot" }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[
            mode("default", &[]),
            mode("allow-all-tools", &["--allow-all-tools"]),
            mode("allow-all", &["--allow-all-tools", "--allow-all-paths"]),
        ];
        MODES
    }

    fn configuration(&self, _: &RunPlace) -> Vec<(PathBuf, String)> {
        Vec::new()
    }

    fn variables(&self, place: &RunPlace) -> Vec<(&'static str, String)> {
        vec![
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
            ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", place.model_url)),
            ("COPILOT_PROVIDER_API_KEY", "scripted".to_owned()),
            ("COPILOT_MODEL", "gpt-4.1".to_owned()),
        ]
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        words(&["-p", prompt, "--trust-folder"])
    }

    fn shell(&self, command: &str) -> ModelStep {
        ModelStep::call("bash", json!({ "command": command, "description": "a step" }))
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        ModelStep::call("create", json!({ "path": place.in_workspace(path), "file_text": text }))
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".github/copilot/settings.json", r#"{"disableAllHooks": true}"#)
    }
}
