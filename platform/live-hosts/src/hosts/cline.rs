//! Cline's command line, which speaks chat completions.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, MODEL, NpmPackage, RunPlace, mode, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct Cline;

impl HostDriver for Cline {
    fn id(&self) -> &'static str {
        "cline"
    }

    fn program(&self) -> &'static str {
        "cline"
    }

    fn package(&self) -> NpmPackage {
        NpmPackage { name: "cline", version: "3.0.65", program: ".bin/cline" }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[
            mode("default", &[]),
            mode("asks for approval", &["--auto-approve", "false"]),
            mode("auto-approve", &["--auto-approve", "true"]),
        ];
        MODES
    }

    fn configuration(&self, place: &RunPlace) -> Vec<(PathBuf, String)> {
        let kind = "openai-compatible";
        let url = format!("{}/v1", place.model_url);
        let settings = json!({ "provider": kind, "apiKey": "scripted", "model": MODEL, "baseUrl": url });
        let provider =
            json!({ "settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual" });
        let providers = json!({ "version": 1, "lastUsedProvider": kind, "modes": {}, "providers": { kind: provider } });
        let general = json!({ "telemetryOptOut": true, "autoUpdateEnabled": false });
        vec![
            place.home_file(".cline/data/settings/providers.json", &providers),
            place.home_file(".cline/data/settings/global-settings.json", &general),
        ]
    }

    fn variables(&self, _: &RunPlace) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        words(&[prompt])
    }

    fn shell(&self, command: &str) -> ModelStep {
        ModelStep::call("run_commands", json!({ "commands": [command] }))
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        ModelStep::call("editor", json!({ "path": place.in_workspace(path), "new_text": text }))
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".clinerules/hooks/PreToolUse", "#!/bin/sh\n")
    }
}
