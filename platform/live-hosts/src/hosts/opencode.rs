//! OpenCode, which speaks chat completions.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, MODEL, NpmPackage, RunPlace, mode, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct OpenCode;

impl HostDriver for OpenCode {
    fn id(&self) -> &'static str {
        "opencode"
    }

    fn program(&self) -> &'static str {
        "opencode"
    }

    fn package(&self) -> NpmPackage {
        NpmPackage { name: "opencode-ai", version: "1.18.33", program: ".bin/opencode" }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[mode("default", &[]), mode("auto", &["--auto"])];
        MODES
    }

    fn configuration(&self, place: &RunPlace) -> Vec<(PathBuf, String)> {
        let limit = json!({ "context": 200_000, "output": 8000 });
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "name": MODEL,
            "options": { "baseURL": format!("{}/v1", place.model_url), "apiKey": "scripted" },
            "models": { MODEL: { "name": MODEL, "tool_call": true, "limit": limit } },
        });
        let name = format!("{MODEL}/{MODEL}");
        let settings =
            json!({ "autoupdate": false, "provider": { MODEL: provider }, "model": name, "small_model": name });
        // It installs the types of plugins into every folder with configuration, unless a lock file lists them.
        let lock =
            json!({ "packages": { "": { "dependencies": { "@opencode-ai/plugin": place.version } } } }).to_string();
        let mut files = vec![place.home_file(".config/opencode/opencode.json", &settings)];
        for folder in [place.home.join(".config/opencode"), place.workspace.join(".opencode")] {
            files.push((folder.join("package-lock.json"), lock.clone()));
            files.push((folder.join("node_modules/.package-lock.json"), lock.clone()));
        }
        files
    }

    fn variables(&self, _: &RunPlace) -> Vec<(&'static str, String)> {
        vec![("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()), ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned())]
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        words(&["run", prompt, "-m", &format!("{MODEL}/{MODEL}")])
    }

    fn shell(&self, command: &str) -> ModelStep {
        ModelStep::call("bash", json!({ "command": command, "description": "a step" }))
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        ModelStep::call("write", json!({ "filePath": place.in_workspace(path), "content": text }))
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".opencode/plugins/dispatch.js", "")
    }

    fn own_files(&self) -> &'static [&'static str] {
        &[".opencode/node_modules", ".opencode/package.json", ".opencode/package-lock.json", ".opencode/.gitignore"]
    }
}
