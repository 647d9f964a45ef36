//! Recognises the names that hosts give to the tools of MCP servers.
//!
//! Pure.

use crate::access::Access;
use crate::hosts::{McpStyle, mcp_style};

/// Words at the start of a tool's name that say it looks.
const LOOKING: [&str; 9] = ["read", "get", "list", "search", "find", "query", "view", "show", "tree"];
/// Words anywhere in it that say it does not only look.
const CHANGING: [&str; 16] = [
    "write", "replace", "edit", "create", "delete", "remove", "update", "set", "move", "rename", "put", "save",
    "apply", "append", "insert", "run",
];
const REMOVING: [&str; 6] = ["delete", "remove", "rmdir", "unlink", "rm", "trash"];
/// Words of a server or a tool that say that its paths lie on this machine.
const FILES: [&str; 12] = [
    "file",
    "files",
    "filesystem",
    "fs",
    "directory",
    "directories",
    "dir",
    "folder",
    "desktop",
    "commander",
    "editor",
    "serena",
];
/// Words of a server whose paths lie elsewhere.
const ELSEWHERE: [&str; 16] = [
    "github",
    "gitlab",
    "bitbucket",
    "gdrive",
    "drive",
    "s3",
    "notion",
    "dropbox",
    "figma",
    "supabase",
    "sharepoint",
    "box",
    "confluence",
    "jira",
    "slack",
    "vercel",
];

/// What a tool of an MCP server does to the paths in its input, by its name; nothing where they are not of this machine.
pub(crate) fn file_access(server: Option<&str>, tool: &str) -> Option<Access> {
    let own = own_name(tool).to_ascii_lowercase();
    let rest = tool.strip_suffix(own_name(tool)).unwrap_or_default().to_ascii_lowercase();
    let server = server.map_or(rest, str::to_ascii_lowercase);
    let is_any = |name: &str, known: &[&str]| words(name).any(|word| known.contains(&word));
    if is_any(&server, &ELSEWHERE) || !(is_any(&server, &FILES) || is_any(&own, &FILES)) {
        return None;
    }
    Some(match () {
        () if is_any(&own, &REMOVING) => Access::Delete,
        () if only_looks(tool) => Access::Read,
        () => Access::Write,
    })
}

/// Whether the name of a tool says that it only looks.
#[must_use]
pub fn only_looks(tool: &str) -> bool {
    let name = own_name(tool).to_ascii_lowercase();
    LOOKING.iter().any(|verb| name.starts_with(verb)) && !words(&name).any(|word| CHANGING.contains(&word))
}

/// The tool's name without its server's.
fn own_name(tool: &str) -> &str {
    let tool = tool.rsplit("__").next().unwrap_or(tool);
    tool.rsplit(['/', ':']).next().unwrap_or(tool)
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

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
    use super::{Access, file_access, is_mcp_name};

    #[test]
    fn paths_count_where_a_server_or_tool_is_about_files_of_this_machine() {
        let table = [
            ("mcp__filesystem__write_file", Some(Access::Write)),
            ("mcp__filesystem__delete_directory", Some(Access::Delete)),
            ("mcp__filesystem__read_text_file", Some(Access::Read)),
            ("mcp__fs__find_replace", Some(Access::Write)),
            ("mcp__github__create_or_update_file", None),
            ("mcp__api__delete", None),
            ("mcp__weather__get", None),
        ];
        for (tool, expected) in table {
            assert_eq!(file_access(None, tool), expected, "{tool}");
        }
    }

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
