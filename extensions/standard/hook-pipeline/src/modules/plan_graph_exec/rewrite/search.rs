//! Search tools that name no files get the scope of the open nodes.
//!
//! Pure.

use dispatch_hook_module::Context;
use serde_json::{Map, Value};

use super::{InputRewrite, is_plain};
use crate::plan::PlanNode;

/// Globs that one search can be given.
const MAX_GLOBS: usize = 20;

/// Search tools by host, and the field that says which files they look at.
const INCLUDE_FIELDS: [(&str, &str, &str); 7] = [
    ("claude-code", "Grep", "glob"),
    ("vscode-copilot", "grep_search", "includePattern"),
    ("cursor", "Grep", "glob"),
    ("cursor", "grep_search", "include_pattern"),
    ("gemini-cli", "search_file_content", "include"),
    ("opencode", "grep", "include"),
    ("crush", "grep", "include"),
];

pub(super) fn with_scope(ctx: &Context<'_>, open: &[&PlanNode]) -> Option<InputRewrite> {
    let tool = ctx.event.tool_name.as_deref()?;
    let host = ctx.event.tool_host();
    let (_, _, field) = INCLUDE_FIELDS.iter().find(|row| row.0 == host && row.1 == tool)?;
    let input = ctx.event.tool_input.as_object()?;
    let named = input.get(*field).is_some_and(|value| !value.is_null() && value.as_str() != Some(""));
    if named || !searches_workspace(ctx) {
        return None;
    }
    let pattern = joined(open)?;
    let note = format!(
        "The search was limited to the open plan nodes ({field}: {pattern}). Name files or folders to search elsewhere."
    );
    let update = Map::from_iter([((*field).to_owned(), Value::String(pattern))]);
    Some(InputRewrite { update: Value::Object(update), note })
}

/// Globs are relative to where the search starts, which must be the workspace.
fn searches_workspace(ctx: &Context<'_>) -> bool {
    let root = ctx.paths.repo_root.as_path();
    let starts = ctx.call.map(|call| call.paths.as_slice()).unwrap_or_default();
    let here = ctx.event.cwd.as_deref().is_none_or(|cwd| ctx.paths.repo_relative(cwd.as_ref()).as_deref() == Some(""));
    here && starts.iter().all(|start| !start.glob && std::path::Path::new(&start.path) == root)
}

/// One glob for all open scopes; nothing if some are more than names and wildcards, or cover everything.
fn joined(open: &[&PlanNode]) -> Option<String> {
    let mut globs: Vec<&str> = Vec::new();
    for glob in open.iter().flat_map(|node| node.scope.iter()) {
        if !means_the_same_everywhere(glob) {
            return None;
        }
        if !globs.contains(&glob.as_str()) {
            globs.push(glob);
        }
    }
    match globs.as_slice() {
        [] => None,
        [only] => Some((*only).to_owned()),
        several if several.len() <= MAX_GLOBS => Some(format!("{{{}}}", several.join(","))),
        _ => None,
    }
}

/// Searches read a glob without `/` as a name in any folder, and one that starts with `./` as nothing.
fn means_the_same_everywhere(glob: &str) -> bool {
    let everything = matches!(glob, "**/*" | "**/");
    is_plain(glob) && glob.contains('/') && !glob.starts_with("./") && !everything
}
