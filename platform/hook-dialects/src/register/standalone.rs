//! Files that are wholly ours: scripts, a plugin, a manifest. Never written over someone else's.

use serde_json::{Value, json};

use super::command::{CommandLine, Shell};
use super::document::pretty;
use super::lookup::{Launch, RegisteredCommand};
use super::{RegisterError, Registered, Removal};

/// What makes a file recognisable as ours.
const MARK: &str = "Managed by `dispatch init`";

/// The bridge that OpenCode loads into its own process.
const OPENCODE_BRIDGE: &str = include_str!("opencode_bridge.js");
const BRIDGE_COMMAND: &str = "[\"dispatch\", \"hook\"]";
const BRIDGE_COMMAND_LINE: &str = "const COMMAND = ";
const BRIDGE_BEFORE_TOOL: &str = "tool.execute.before";

/// A file that is ours as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standalone {
    /// One event's script for a POSIX shell.
    ClineShell(&'static str),
    /// One event's script for PowerShell.
    ClinePowerShell(&'static str),
    /// The plugin that passes OpenCode's events on.
    OpencodePlugin,
    /// The manifest that makes a folder a Goose plugin.
    GooseManifest,
}

impl Standalone {
    pub(super) fn merge(&self, existing: Option<&str>, command: &CommandLine) -> Result<String, RegisterError> {
        match existing {
            Some(text) if !text.trim().is_empty() && !text.contains(MARK) => Err(RegisterError::ForeignFile),
            _ => Ok(self.content(command)),
        }
    }

    pub(super) fn remove(&self, existing: &str) -> Removal {
        if existing.contains(MARK) { Removal::Delete } else { Removal::Keep(existing.to_owned()) }
    }

    pub(super) fn check(&self, existing: Option<&str>, command: &CommandLine) -> Registered {
        match existing {
            Some(text) if text == self.content(command) => Registered::Yes,
            Some(text) if text.contains(MARK) => {
                Registered::Differs(vec!["the file is of another version or program".to_owned()])
            }
            Some(text) if !text.trim().is_empty() => Registered::Differs(vec!["the file is not ours".to_owned()]),
            _ => Registered::Missing,
        }
    }

    pub(super) fn command(&self, existing: &str) -> Option<RegisteredCommand> {
        if !existing.contains(MARK) {
            return None;
        }
        Some(match self {
            Self::ClineShell(event) => RegisteredCommand { event, launch: Launch::File { shell: Shell::Posix } },
            Self::ClinePowerShell(event) => {
                RegisteredCommand { event, launch: Launch::File { shell: Shell::PowerShell } }
            }
            Self::OpencodePlugin => {
                let words = existing.lines().find_map(|line| line.strip_prefix(BRIDGE_COMMAND_LINE))?;
                let mut words: Vec<String> = serde_json::from_str(words.trim_end_matches(';')).ok()?;
                words.extend([BRIDGE_BEFORE_TOOL, "--host", "opencode"].map(str::to_owned));
                RegisteredCommand { event: BRIDGE_BEFORE_TOOL, launch: Launch::Words(words) }
            }
            Self::GooseManifest => return None,
        })
    }

    fn content(&self, command: &CommandLine) -> String {
        match self {
            Self::ClineShell(event) => {
                let line = command.line(event, "cline", Shell::Posix);
                let line = if line.starts_with("command -v") { line } else { format!("exec {line}") };
                format!("#!/bin/sh\n# {MARK}; `dispatch init --undo` deletes it.\n{line}\n")
            }
            Self::ClinePowerShell(event) => {
                let line = command.line(event, "cline", Shell::PowerShell);
                format!("# {MARK}; `dispatch init --undo` deletes it.\n{line}\nexit $LASTEXITCODE\n")
            }
            Self::OpencodePlugin => {
                let words = Value::from(command.words().to_vec()).to_string();
                OPENCODE_BRIDGE.replacen(BRIDGE_COMMAND, &words, 1)
            }
            Self::GooseManifest => {
                let manifest = json!({
                    "name": "dispatch",
                    "version": env!("CARGO_PKG_VERSION"),
                    "description": format!("Runs the Dispatch policy pipeline. {MARK}."),
                });
                format!("{}\n", pretty(&manifest, "  "))
            }
        }
    }
}
