//! Recognises the names that hosts give to the tools of MCP servers.
//!
//! Pure.

use crate::hosts::{McpStyle, mcp_style};

/// Whether a name that no table knows is spelled like a tool of an MCP server.
pub(crate) fn is_mcp_name(host: &str, tool: &str) -> bool {
    shared_form(tool)
        || match mcp_style(host) {
            McpStyle::Shared => false,
            McpStyle::Hyphen => two_parts(tool, "-"),
            McpStyle::DoubleUnderscore => two_parts(tool, "__"),
        }
}

fn shared_form(tool: &str) -> bool {
    if let Some(rest) = tool.strip_prefix("mcp_") {
        return two_parts(rest.trim_start_matches('_'), "_");
    }
    if let Some(rest) = tool.strip_prefix("MCP:") {
        return !rest.is_empty();
    }
    two_parts(tool.strip_prefix('@').unwrap_or(tool), "/")
}

fn two_parts(name: &str, separator: &str) -> bool {
    name.split_once(separator).is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

#[cfg(test)]
mod tests {
    use super::is_mcp_name;

    #[test]
    fn every_host_spells_it_its_own_way() {
        let table = [
            ("claude-code", "mcp__github__search", true),
            ("claude-code", "mcp__plugin_a_b__c", true),
            ("claude-code", "mcp__", false),
            ("claude-code", "mcp_x", false),
            ("vscode-copilot", "mcp_pylance_mcp_s_pylanceImports", true),
            ("gemini-cli", "mcp_docs_search", true),
            ("cursor", "MCP:search", true),
            ("cursor", "MCP:", false),
            ("kiro", "@git/status", true),
            ("kiro", "@git", false),
            ("codex", "docs/search", true),
            ("copilot-cli", "github-mcp-server-list_issues", true),
            ("copilot-cli", "unknown", false),
            ("claude-code", "some-tool", false),
            ("goose", "github__search", true),
            ("claude-code", "github__search", false),
            ("opencode", "docs_search", false),
        ];
        for (host, tool, expected) in table {
            assert_eq!(is_mcp_name(host, tool), expected, "{host} {tool}");
        }
    }
}
