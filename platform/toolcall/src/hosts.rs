//! Finds a host's tool in its table: one file of plain data per host.
//!
//! Pure.

mod claude_code;
mod cline;
mod codex;
mod copilot_cli;
mod crush;
mod cursor;
mod devin;
mod dispatch;
mod factory_droid;
mod gemini_cli;
mod goose;
mod kiro;
mod opencode;
mod qwen_code;
mod roo;
mod vscode_copilot;
mod windsurf;

use crate::access::{Access, ToolKind};

/// One row of a table: the tool's name, its kind, and how its input is laid out.
pub(crate) type HostTool = (&'static str, ToolKind, InputShape);

/// Where the paths, the command or the addresses sit in a tool's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputShape {
    /// The input names nothing outside the agent.
    Nothing,
    /// The path fields name what is touched, in this way.
    Files(Access),
    /// The path fields name where a search starts.
    Roots,
    /// A command line for a POSIX shell.
    Command,
    /// A command line for PowerShell or `cmd`.
    WindowsCommand,
    /// Text typed into a process that already runs.
    Keystrokes,
    /// `task.command` with `task.args`.
    Task,
    /// Patch text, or path fields where the host sends those instead.
    Patch,
    /// A path whose access depends on the `command` field (`view`, `create`, ...).
    Editor,
    /// Addresses.
    Urls,
    /// Files that hold what an address returns.
    Download,
    /// Several calls in one.
    Parallel,
}

/// How a host spells the tools of MCP servers, beside the forms every host shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum McpStyle {
    /// Only the shared forms.
    Shared,
    /// `<server>-<tool>`.
    Hyphen,
    /// `<extension>__<tool>`.
    DoubleUnderscore,
}

/// The row for a tool, if the host's table has one.
///
/// A host that is not known, and `native`, look through every table in turn.
pub(crate) fn find(host: &str, tool: &str) -> Option<HostTool> {
    let name = tool.strip_prefix("functions.").unwrap_or(tool);
    match table(host) {
        Some(rows) => lookup(rows, name),
        None => TABLES.iter().find_map(|rows| lookup(rows, name)),
    }
}

pub(crate) fn mcp_style(host: &str) -> McpStyle {
    match host {
        "copilot-cli" | "copilot-cli-pascal" => McpStyle::Hyphen,
        "goose" | "native" => McpStyle::DoubleUnderscore,
        _ => McpStyle::Shared,
    }
}

const TABLES: &[&[HostTool]] = &[
    dispatch::TOOLS,
    claude_code::TOOLS,
    vscode_copilot::TOOLS,
    copilot_cli::TOOLS,
    cursor::TOOLS,
    gemini_cli::TOOLS,
    codex::TOOLS,
    windsurf::TOOLS,
    devin::TOOLS,
    cline::TOOLS,
    kiro::TOOLS,
    factory_droid::TOOLS,
    crush::TOOLS,
    goose::TOOLS,
    opencode::TOOLS,
    qwen_code::TOOLS,
    roo::TOOLS,
];

fn table(host: &str) -> Option<&'static [HostTool]> {
    Some(match host {
        "dispatch" => dispatch::TOOLS,
        "claude-code" => claude_code::TOOLS,
        "vscode-copilot" => vscode_copilot::TOOLS,
        "copilot-cli" => copilot_cli::TOOLS,
        "copilot-cli-pascal" => copilot_cli::PASCAL_TOOLS,
        "cursor" => cursor::TOOLS,
        "gemini-cli" => gemini_cli::TOOLS,
        "codex" => codex::TOOLS,
        "windsurf" => windsurf::TOOLS,
        "devin" => devin::TOOLS,
        "cline" => cline::TOOLS,
        "kiro" => kiro::TOOLS,
        "factory-droid" => factory_droid::TOOLS,
        "crush" => crush::TOOLS,
        "goose" => goose::TOOLS,
        "opencode" => opencode::TOOLS,
        "qwen-code" => qwen_code::TOOLS,
        "roo" => roo::TOOLS,
        _ => return None,
    })
}

/// The exact spelling wins; builds of one host differ in case only.
fn lookup(rows: &[HostTool], name: &str) -> Option<HostTool> {
    let exact = rows.iter().find(|row| row.0 == name);
    let row = exact.or_else(|| rows.iter().find(|row| row.0.eq_ignore_ascii_case(name)));
    row.copied()
}

#[cfg(test)]
mod tests {
    use super::TABLES;

    #[test]
    fn no_table_names_a_tool_twice() {
        for rows in TABLES {
            for (index, row) in rows.iter().enumerate() {
                assert!(rows[..index].iter().all(|other| other.0 != row.0), "{} twice", row.0);
            }
        }
    }
}
