//! `UB02` and `UB08` for search tools: where a search starts, and whether a pattern bounds it.
//!
//! How many files there are is an estimate that costs next to nothing: the number of entries
//! that git's index names in its head, kept in the session's state until the index changes.
//! Without an index the number is not known, and the rule does not apply.
//!
//! Pure.

use dispatch_hook_module::Context;
use dispatch_toolcall::{SimpleCommand, ToolCall, ToolKind, UnboundedKind};
use serde_json::{Value, json};

use super::location::{WorkspaceBounds, is_wild};
use super::rules::{RuleFindings, UB02, UB08};
use super::settings::GraphPretooluseSettings;

/// The section of the state that holds the estimate.
const SECTION: &str = "graph-pretooluse";
/// Bytes of an index entry, names included; a longer index than all files would need has more files.
const BYTES_PER_FILE: u64 = 200;
/// A longer index is not read.
const MAX_INDEX_BYTES: u64 = 16 * 1024 * 1024;

/// Tools that look into files, by the name in lower case.
const CONTENT_TOOLS: &[&str] = &["grep", "rg", "grep_search", "search_files", "search_file_content"];
/// Tools that look for names, and the fields of their pattern.
const NAME_TOOLS: &[&str] = &["glob", "file_search", "find_by_name", "find_files"];
const NAME_FIELDS: &[&str] = &["pattern", "query", "Pattern", "glob", "glob_pattern"];
/// Fields that narrow a search down to some files.
const FILE_FIELDS: &[&str] = &[
    "glob",
    "include",
    "includePattern",
    "include_pattern",
    "type",
    "file_pattern",
    "filePattern",
    "Includes",
    "include_globs",
    "glob_filter",
    "file_types",
    "glob_pattern",
];
/// The same for programs.
const FILE_OPTIONS: &[&str] =
    &["--include", "--glob", "--iglob", "--type", "--max-count", "--files-with-matches", "--quiet"];
const CONTENT_PROGRAMS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack"];

/// Judges a search; gives the estimate to keep, if a new one was made.
pub(super) fn judge(
    ctx: &Context<'_>,
    call: &ToolCall,
    workspace: &WorkspaceBounds<'_>,
    settings: &GraphPretooluseSettings,
    findings: &mut RuleFindings,
) -> Option<Value> {
    let whole = if call.kind == ToolKind::Search {
        judge_roots(call, workspace, findings);
        searches_everything(call, workspace, &ctx.event.tool_input)
    } else {
        runs_everything(call, workspace)
    };
    if !whole {
        return None;
    }
    let estimate = FileCountEstimate::of(ctx, settings.max_files)?;
    if estimate.files > settings.max_files {
        findings.push(&UB08, &format!("more than {} files", settings.max_files));
    }
    estimate.patch
}

fn judge_roots(call: &ToolCall, workspace: &WorkspaceBounds<'_>, findings: &mut RuleFindings) {
    if let Some(far) = call.paths.iter().find(|path| workspace.is_endless_walk(&path.path)) {
        findings.push(&UB02, &far.path);
    }
}

fn searches_everything(call: &ToolCall, workspace: &WorkspaceBounds<'_>, input: &Value) -> bool {
    let name = call.name.to_ascii_lowercase();
    let texts = |fields: &[&str]| -> Vec<String> {
        let values = fields.iter().filter_map(|field| input.get(*field));
        values
            .flat_map(|value| match value {
                Value::String(text) => vec![text.clone()],
                Value::Array(list) => list.iter().filter_map(|entry| entry.as_str().map(str::to_owned)).collect(),
                _ => Vec::new(),
            })
            .collect()
    };
    let bounds = |pattern: &String| !pattern.split('/').all(|part| part.is_empty() || part == "." || is_wild(part));
    let at_root = call.paths.iter().all(|path| workspace.is_root(&path.path));
    at_root
        && match name.as_str() {
            name if CONTENT_TOOLS.contains(&name) => !texts(FILE_FIELDS).iter().any(bounds),
            name if NAME_TOOLS.contains(&name) => !texts(NAME_FIELDS).iter().any(bounds),
            _ => false,
        }
}

/// The same for `grep -r` and its like in a command.
fn runs_everything(call: &ToolCall, workspace: &WorkspaceBounds<'_>) -> bool {
    let Some(effects) = &call.effects else {
        return false;
    };
    let from_root = effects
        .unbounded
        .iter()
        .any(|fact| fact.what == UnboundedKind::RecursiveTraversal && workspace.is_root(&fact.target));
    from_root && effects.commands.iter().any(is_open_search)
}

fn is_open_search(command: &SimpleCommand) -> bool {
    let narrows = |word: &String| {
        FILE_OPTIONS.iter().any(|option| word.split('=').next() == Some(option))
            || (!word.starts_with("--") && word.starts_with('-') && word.contains(['g', 't', 'm', 'l', 'q']))
    };
    CONTENT_PROGRAMS.contains(&command.program.as_str()) && !command.argv.iter().skip(1).any(narrows)
}

/// How many files the workspace has, as far as its index says.
struct FileCountEstimate {
    files: u64,
    /// What to keep in the state, if it was counted now.
    patch: Option<Value>,
}

impl FileCountEstimate {
    fn of(ctx: &Context<'_>, max_files: u64) -> Option<Self> {
        let index = ctx.paths.repo_root.join(".git").join("index");
        let changed = ctx.session.modified_ms(&index)?;
        let known = |key: &str| ctx.state.get(SECTION, key);
        if known("indexMs").and_then(Value::as_i64) == Some(changed) {
            let files = known("trackedFiles").and_then(Value::as_u64)?;
            return Some(Self { files, patch: None });
        }
        let enough = max_files.saturating_mul(BYTES_PER_FILE);
        let limit = enough.min(MAX_INDEX_BYTES);
        let files = match ctx.session.read(&index, limit) {
            Some(bytes) => entries(&bytes)?,
            None if limit == enough => max_files.saturating_add(1),
            None => return None,
        };
        let patch = json!({ SECTION: { "trackedFiles": files, "indexMs": changed } });
        Some(Self { files, patch: Some(patch) })
    }
}

/// The number of entries in the head of git's index.
fn entries(index: &[u8]) -> Option<u64> {
    let head: &[u8; 12] = index.first_chunk()?;
    let [b'D', b'I', b'R', b'C', _, _, _, _, a, b, c, d] = *head else {
        return None;
    };
    Some(u64::from(u32::from_be_bytes([a, b, c, d])))
}
