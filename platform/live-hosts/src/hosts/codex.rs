//! Codex, which speaks the responses protocol.
//!
//! Pure.

use crate::host::{HostDriver, HostMode, MODEL, NpmPackage, RunPlace, mode, relative, words};
use crate::step::ModelStep;
use serde_json::json;
use std::path::PathBuf;

pub(super) struct Codex;

impl HostDriver for Codex {
    fn id(&self) -> &'static str {
        "codex"
    }

    fn program(&self) -> &'static str {
        "codex"
    }

    fn package(&self) -> NpmPackage {
        NpmPackage { name: "@openai/codex", version: "0.166.0", program: ".bin/codex" }
    }

    fn modes(&self) -> &'static [HostMode] {
        const MODES: &[HostMode] = &[
            mode("default", &[]),
            mode("read-only", &["--sandbox", "read-only"]),
            mode("workspace-write", &["--sandbox", "workspace-write"]),
            mode("danger-full-access", &["--sandbox", "danger-full-access"]),
            mode("bypass", &["--dangerously-bypass-approvals-and-sandbox"]),
        ];
        MODES
    }

    fn configuration(&self, place: &RunPlace) -> Vec<(PathBuf, String)> {
        let text = format!(
            "model_provider = \"{MODEL}\"\n\n[model_providers.{MODEL}]\nname = \"{MODEL}\"\nbase_url = \
             \"{}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n\n[projects.{}]\ntrust_level = \
             \"trusted\"\n",
            place.model_url,
            json!(place.workspace.display().to_string()),
        );
        vec![(place.home.join(".codex/config.toml"), text)]
    }

    fn variables(&self, _: &RunPlace) -> Vec<(&'static str, String)> {
        vec![("SCRIPTED_KEY", "scripted".to_owned())]
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        // Hooks are skipped until a person has approved them; the patch tool is offered to models that Codex knows.
        words(&["exec", prompt, "-m", "gpt-5.5", "--dangerously-bypass-hook-trust"])
    }

    fn shell(&self, command: &str) -> ModelStep {
        ModelStep::call("exec_command", json!({ "cmd": command, "yield_time_ms": 10_000 }))
    }

    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep {
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let path = relative(place, path);
        let input = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n");
        ModelStep::FreeForm { tool: "apply_patch".to_owned(), input }
    }

    fn off_switch(&self) -> (&'static str, &'static str) {
        (".codex/config.toml", "[features]\nhooks = false\n")
    }
}
