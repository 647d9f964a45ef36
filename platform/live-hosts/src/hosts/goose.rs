//! Goose, which speaks chat completions.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, MODEL, NpmPackage, RunPlace, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct Goose;

const fn goose_mode(name: &'static str, variables: &'static [(&'static str, &'static str)]) -> HostMode {
    HostMode { name, arguments: &[], variables }
}

impl HostDriver for Goose {
    fn id(&self) -> &'static str {
        "goose"
    }

    fn program(&self) -> &'static str {
        "goose"
    }

    fn package(&self) -> NpmPackage {
        let (name, program) = if cfg!(target_arch = "aarch64") {
            ("@aaif/goose-binary-linux-arm64", "@aaif/goose-binary-linux-arm64/bin/goose")
        } else {
            ("@aaif/goose-binary-linux-x64", "@aaif/goose-binary-linux-x64/bin/goose")
        };
        NpmPackage { name, version: "1.52.0", program }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[
            goose_mode("chat", &[("GOOSE_MODE", "chat")]),
            goose_mode("approve", &[("GOOSE_MODE", "approve")]),
            goose_mode("smart_approve", &[("GOOSE_MODE", "smart_approve")]),
            goose_mode("auto", &[("GOOSE_MODE", "auto")]),
        ];
        MODES
    }

    fn configuration(&self, _: &RunPlace) -> Vec<(PathBuf, String)> {
        Vec::new()
    }

    fn variables(&self, place: &RunPlace) -> Vec<(&'static str, String)> {
        vec![
            ("GOOSE_PROVIDER", "openai".to_owned()),
            ("GOOSE_MODEL", MODEL.to_owned()),
            ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
            ("OPENAI_HOST", place.model_url.clone()),
            ("OPENAI_API_KEY", "scripted".to_owned()),
        ]
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        words(&["run", "-t", prompt])
    }

    fn shell(&self, command: &str) -> ModelStep {
        ModelStep::call("shell", json!({ "command": command }))
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        ModelStep::call("write", json!({ "path": place.in_workspace(path), "content": text }))
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".agents/plugins/dispatch/hooks/hooks.json", "{}")
    }
}
