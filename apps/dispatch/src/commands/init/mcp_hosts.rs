//! Where each host looks for the MCP servers of a project, and how it spells one.

use super::mcp_file::{CodexFile, JsonFile, Spelling};
use dispatch_hook_dialects::register::{FileEditor, Scope, Target};
use std::sync::Arc;

/// A host that reads MCP servers only from a file of the user's.
pub(super) struct UserOnly {
    /// The file.
    pub(super) file: &'static str,
    /// What the user can do.
    pub(super) remedy: &'static str,
}

/// Cline keeps its servers in a place of its own per editor, which its own page opens.
const CLINE_REMEDY: &str = "Cline has MCP servers for all projects only: under MCP Servers, Configure, add \
                            \"dispatch\": {\"command\": \"dispatch\", \"args\": [\"mcp\"]} to \"mcpServers\"";

/// The host's file in a project, if it has one.
pub(super) fn target(host: &str) -> Option<Target> {
    // By its name, because the file goes to other machines.
    let program = "dispatch".to_owned();
    let json = |path: &'static str, section: &'static str, spelling: Spelling| {
        let editor: Arc<dyn FileEditor> = Arc::new(JsonFile { section, spelling, program: program.clone() });
        Some((path, editor))
    };
    let (path, editor) = match host {
        "vscode-copilot" => json(".vscode/mcp.json", "servers", Spelling::Typed("stdio")),
        "claude-code" => json(".mcp.json", "mcpServers", Spelling::Typed("stdio")),
        "copilot-cli" => json(".github/mcp.json", "mcpServers", Spelling::WithTools),
        "cursor" => json(".cursor/mcp.json", "mcpServers", Spelling::Plain),
        "gemini-cli" => json(".gemini/settings.json", "mcpServers", Spelling::Plain),
        "qwen-code" => json(".qwen/settings.json", "mcpServers", Spelling::Plain),
        "devin" => json(".devin/config.json", "mcpServers", Spelling::Plain),
        "kiro" => json(".kiro/settings/mcp.json", "mcpServers", Spelling::Plain),
        "factory-droid" => json(".factory/mcp.json", "mcpServers", Spelling::Typed("stdio")),
        "crush" => json("crush.json", "mcp", Spelling::Typed("stdio")),
        "goose" => json(".agents/plugins/dispatch/.mcp.json", "mcpServers", Spelling::Plain),
        "opencode" => json("opencode.json", "mcp", Spelling::WordList),
        "codex" => {
            let editor: Arc<dyn FileEditor> = Arc::new(CodexFile { program: program.clone() });
            Some((".codex/config.toml", editor))
        }
        _ => None,
    }?;
    Some(Target::other(path, Scope::Project, editor))
}

/// What to know about a host without such a file.
pub(super) fn user_only(host: &str) -> Option<UserOnly> {
    let remedy = "this host has MCP servers for all projects only: add `dispatch mcp` there by hand";
    match host {
        "windsurf" => Some(UserOnly { file: "~/.codeium/windsurf/mcp_config.json", remedy }),
        "cline" => Some(UserOnly { file: "cline_mcp_settings.json", remedy: CLINE_REMEDY }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::init::hosts;

    #[test]
    fn every_host_has_a_file_or_a_word_about_why_not() {
        for host in hosts::all() {
            assert_ne!(target(host).is_some(), user_only(host).is_some(), "{host}");
        }
    }
}
