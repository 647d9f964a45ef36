//! Whether the workspace's hooks run: valid, approved, watched.

use super::{CheckHealth, DoctorFinding};
use crate::settings::Loaded;
use ext_workspace_hooks::contract::{HookListing, Workers, list_hooks, workspace_of};

const CHECK: &str = "workspace hooks";

/// The finding about the hooks of the workspace, if it has any.
pub(super) fn finding(loaded: &Loaded) -> Option<DoctorFinding> {
    let workspace = workspace_of(&loaded.start);
    let HookListing { written, set } = list_hooks(&workspace, &loaded.folders());
    if written.files.is_empty() {
        return None;
    }
    let found = |health, detail: String, fix: Option<&str>| {
        Some(DoctorFinding { check: CHECK, health, detail, fix: fix.map(str::to_owned) })
    };
    if let Some(problem) = written.problems.first() {
        let detail = format!("{}:{}:{}: {}", problem.file, problem.line, problem.column, problem.message);
        return found(CheckHealth::Wrong, detail, Some("`dispatch workspace-hooks check` lists every problem"));
    }
    let waiting: Vec<&str> = set.waiting_for_approval().collect();
    if !waiting.is_empty() {
        let detail = format!("{} on, waiting for approval: {}", set.hooks.len(), waiting.join(", "));
        return found(CheckHealth::Note, detail, Some("review them with `dispatch trust .akira/hooks.json`"));
    }
    let watcher = Workers::new(&loaded.dirs.state).watcher(&workspace);
    match watcher {
        Some(who) => found(CheckHealth::Ok, format!("{} on, watched by {who}", set.hooks.len()), None),
        None => found(
            CheckHealth::Note,
            format!("{} on, nobody watches the files", set.hooks.len()),
            Some("`dispatch watch`, an editor with `dispatch lsp`, or `dispatch service install`"),
        ),
    }
}
