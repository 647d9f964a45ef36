//! Whether a call falls into an open node: its tool, and every path it changes.
//!
//! Pure.

use std::path::Path;

use dispatch_glob::Glob;
use dispatch_hook_module::{Context, is_handshake_only};
use dispatch_toolcall::{Access, ToolCall, ToolKind};

use crate::plan::PlanNode;

/// A path outside the scope of every open node.
const OUTSIDE: &str = "PG01";
/// A tool that no open node may use.
const TOOL: &str = "PG02";
/// Paths and nodes that a reason names.
const MAX_NAMED: usize = 5;
/// Modules whose subagents write their results below the session's folder.
const OUTPUT_OWNERS: [&str; 2] = ["plan-subagent-contract", "rlm-work"];

/// Why a call does not belong to the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopeObjection {
    pub(super) code: &'static str,
    pub(super) reason: String,
}

/// What speaks against a call. Calls that change nothing are free.
pub(super) fn objection(ctx: &Context<'_>, open: &[&PlanNode]) -> Option<ScopeObjection> {
    let call = ctx.call?;
    let changed = changed_paths(call);
    let acts = matches!(call.kind, ToolKind::Write | ToolKind::Execute) || !changed.is_empty();
    if !acts || call.is_read_only() || call.effects.as_ref().is_some_and(is_handshake_only) {
        return None;
    }
    let outside: Vec<&ChangedPath> = changed.iter().filter(|path| !is_own_output(ctx, path)).collect();
    if outside.is_empty() && !changed.is_empty() {
        return None;
    }
    let admitting: Vec<&PlanNode> = open.iter().copied().filter(|node| node.admits(&call.name, call.kind)).collect();
    if admitting.is_empty() && !open.is_empty() {
        let reason = format!("`{}` is not among the tools of an open plan node ({}).", call.name, names(open));
        return Some(ScopeObjection { code: TOOL, reason });
    }
    let globs: Vec<Glob> = admitting.iter().flat_map(|node| node.globs()).collect();
    let outside: Vec<&str> =
        outside.into_iter().filter(|path| !is_inside(ctx, path, &globs)).map(|path| path.path.as_str()).collect();
    if outside.is_empty() && !open.is_empty() {
        return None;
    }
    Some(ScopeObjection { code: OUTSIDE, reason: reason(open, &outside) })
}

fn reason(open: &[&PlanNode], outside: &[&str]) -> String {
    if open.is_empty() {
        return "No node of the plan is open. Complete what is started, or submit a plan for this work \
                (`dispatch plan submit`)."
            .to_owned();
    }
    let shown = outside.iter().take(MAX_NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    let more = outside.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "{shown}{more}: outside the scope of every open plan node ({}). Stay inside it, or submit a plan that \
         covers this (`dispatch plan submit`).",
        names(open)
    )
}

fn names(open: &[&PlanNode]) -> String {
    let shown = open.iter().take(MAX_NAMED).map(|node| format!("{}: {}", node.id, node.scope.join(" ")));
    shown.collect::<Vec<_>>().join("; ")
}

/// A path that a call changes.
struct ChangedPath {
    path: String,
    /// Whether everything below it changes too.
    whole_tree: bool,
}

fn changed_paths(call: &ToolCall) -> Vec<ChangedPath> {
    let Some(effects) = &call.effects else {
        let changes = call.paths.iter().filter(|path| path.access != Access::Read);
        return changes.map(|path| ChangedPath { path: path.path.clone(), whole_tree: false }).collect();
    };
    let listed = effects.writes.iter().chain(&effects.creates).chain(&effects.deletes);
    let moved = effects.moves.iter().flat_map(|moved| [&moved.from, &moved.to]);
    listed.chain(moved).map(|path| ChangedPath { path: path.path.clone(), whole_tree: path.recursive }).collect()
}

/// The path as written and where links lead it must both be inside.
fn is_inside(ctx: &Context<'_>, changed: &ChangedPath, globs: &[Glob]) -> bool {
    let path = Path::new(&changed.path);
    let covered = |path: &Path| {
        let relative = ctx.paths.repo_relative(path);
        relative.is_some_and(|relative| globs.iter().any(|glob| covers(glob, &relative, changed.whole_tree)))
    };
    if !covered(path) {
        return false;
    }
    let real = ctx.session.real_path(path);
    let real_root = ctx.session.real_path(&ctx.paths.repo_root);
    // Both are followed, so that a workspace that is itself reached by a link stays the workspace.
    let real = real.strip_prefix(&real_root).map_or_else(|_| real.clone(), |rest| ctx.paths.repo_root.join(rest));
    real == path || covered(&real)
}

/// A folder counts as covered when everything in it is.
fn covers(glob: &Glob, relative: &str, whole_tree: bool) -> bool {
    let folder = glob.is_match(&format!("{relative}/"));
    if !whole_tree {
        return folder || glob.is_match(relative);
    }
    folder && glob.is_match(&format!("{relative}/\u{1}/\u{1}"))
}

/// What subagents are told to write lies in the session's own folder.
fn is_own_output(ctx: &Context<'_>, changed: &ChangedPath) -> bool {
    let Some(relative) = ctx.paths.rel_ref(Path::new(&changed.path)) else {
        return false;
    };
    let real = ctx.session.real_path(Path::new(&changed.path));
    let unlinked = real == Path::new(&changed.path) || ctx.paths.rel_ref(&real).is_some_and(|real| real == relative);
    let below = |owner: &str| relative.strip_prefix(owner).is_some_and(|rest| rest.starts_with("/output/sa/"));
    unlinked && OUTPUT_OWNERS.into_iter().any(below)
}
