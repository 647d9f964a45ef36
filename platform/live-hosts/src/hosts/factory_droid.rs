//! Factory Droid, which speaks chat completions.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, MODEL, NpmPackage, RunPlace, mode, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct FactoryDroid;

impl HostDriver for FactoryDroid {
    fn id(&self) -> &'static str {
        "factory-droid"
    }

    fn program(&self) -> &'static str {
        "droid"
    }

    fn package(&self) -> NpmPackage {
        NpmPackage { name: "droid", version: "0.215.0", program: ".bin/droid" }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[
            mode("default", &[]),
            mode("auto low", &["--auto", "low"]),
            mode("auto medium", &["--auto", "medium"]),
            mode("auto high", &["--auto", "high"]),
            mode("skip-permissions-unsafe", &["--skip-permissions-unsafe"]),
        ];
        MODES
    }

    fn configuration(&self, place: &RunPlace) -> Vec<(PathBuf, String)> {
        let model = json!({
            "model": MODEL, "displayName": MODEL, "id": format!("custom:{MODEL}-0"), "index": 0,
            "baseUrl": format!("{}/v1", place.model_url), "apiKey": "scripted",
            "provider": "generic-chat-completion-api", "maxOutputTokens": 8000,
        });
        vec![place.home_file(".factory/settings.json", &json!({ "customModels": [model] }))]
    }

    fn variables(&self, _: &RunPlace) -> Vec<(&'static str, String)> {
        // Without the second it waits long for servers that do not answer.
        vec![("FACTORY_API_KEY", "fk-scripted".to_owned()), ("FACTORY_AIRGAP_ENABLED", "true".to_owned())]
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        words(&["exec", prompt, "-m", &format!("custom:{MODEL}-0")])
    }

    fn shell(&self, command: &str) -> ModelStep {
        let risk = json!({ "summary": "a step", "command": command, "riskLevelReason": "a step", "riskLevel": "low" });
        ModelStep::call("Execute", risk)
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        ModelStep::call("Create", json!({ "file_path": place.in_workspace(path), "content": text }))
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".factory/hooks.json", r#"{"hooksDisabled": true}"#)
    }

    fn reports_failures(&self) -> bool {
        false
    }
}
