//! Finds the rules that hold for an event: those above its folder, the host's project's, the session's first, the user's.

use std::path::{Path, PathBuf};

use dispatch_hook_dialects::dialect::Hints;
use dispatch_hook_module::{
    EventName, HookEvent, Paths, USER_HOOKS_FOLDER, find_workspace, has_rules, nearest_with_rules,
};
use dispatch_os::UserDirs;
use dispatch_os::files;
use dispatch_os::paths::normalise_path;

use super::Invocation;
use super::session_root;
use crate::work_layout::workspace_paths;

/// What the folder of script modules is called.
const MODULES_FOLDER: &str = "features";

/// Whose rules they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleLevel {
    /// Of a folder with `.ai/hooks`, which may have come with a clone.
    Project,
    /// The user's own, which hold in every folder.
    User,
}

/// One set of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleRoot {
    pub(super) paths: Paths,
    pub(super) level: RuleLevel,
}

/// Every set of rules that judges an event.
#[derive(Debug, Default)]
pub(super) struct RuleRoots {
    /// The one that keeps the session.
    pub(super) own: Option<RuleRoot>,
    /// They judge a tool call too, and the strictest answer wins.
    pub(super) others: Vec<RuleRoot>,
}

/// The rules for an event. The session is kept by the nearest root above the event's folder, else by the project that
/// the host names, else by the folder that the process runs in, else by the user's own rules.
pub(super) fn find(invocation: &Invocation<'_>, event: &HookEvent, session_id: &str) -> RuleRoots {
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(root) = invocation.root {
        folders.extend(has_rules(root).then(|| root.to_path_buf()));
    } else {
        let hints = invocation.hints;
        let starts = event.cwd.as_deref().into_iter().chain(hints.project_folders());
        let mut found: Vec<PathBuf> = starts.filter_map(|start| rules_above(start, hints)).collect();
        if found.is_empty() {
            found.extend(hints.process_cwd().and_then(|start| rules_above(start, hints)));
        }
        for folder in found {
            add(&mut folders, folder);
        }
        if let Some(user) = invocation.user {
            follow_session(invocation, user, event, session_id, &mut folders);
        }
    }
    let mut roots = folders
        .into_iter()
        .map(|folder| RuleRoot {
            paths: workspace_paths(&folder, session_id, invocation.trust),
            level: RuleLevel::Project,
        })
        .collect::<Vec<_>>()
        .into_iter();
    let own = roots.next();
    let mut others: Vec<RuleRoot> = roots.collect();
    let user = invocation.user.filter(|user| has_user_rules(user));
    match (own, user) {
        (Some(own), Some(user)) => {
            let paths = own.paths.ruled_by(user_hooks(user));
            others.push(RuleRoot { paths, level: RuleLevel::User });
            RuleRoots { own: Some(own), others }
        }
        (None, Some(user)) => RuleRoots { own: Some(user_root(invocation, user, event, session_id)), others },
        (own, None) => RuleRoots { own, others },
    }
}

/// Adds the root of the session's first event, and remembers it at that event.
fn follow_session(
    invocation: &Invocation<'_>,
    user: &UserDirs,
    event: &HookEvent,
    session_id: &str,
    folders: &mut Vec<PathBuf>,
) {
    match session_root::read(user, session_id) {
        Some(first) if folders.contains(&first) => {}
        Some(first) if event.name == EventName::PreToolUse && has_rules(&first) => add(folders, first),
        Some(_) => {}
        None => {
            if let Some(own) = folders.first().filter(|_| invocation.effects == super::Effects::Commit) {
                session_root::remember(user, session_id, own);
            }
        }
    }
}

fn user_root(invocation: &Invocation<'_>, user: &UserDirs, event: &HookEvent, session_id: &str) -> RuleRoot {
    let start = event.cwd.as_deref().or_else(|| invocation.hints.process_cwd());
    let start = start.and_then(|start| absolute(start, invocation.hints)).unwrap_or_default();
    let paths = Paths::of_user(&find_workspace(&start), &user_hooks(user), &user.data, session_id);
    RuleRoot { paths, level: RuleLevel::User }
}

fn has_user_rules(user: &UserDirs) -> bool {
    let folder = user_hooks(user);
    files::is_dir(&folder) && !holds_routing_hooks_alone(&folder)
}

/// The user's routing hooks are in the same folder, and make no rules. A folder that is empty or cannot be listed has rules.
fn holds_routing_hooks_alone(folder: &Path) -> bool {
    let Ok(mut entries) = files::read_dir(folder) else { return false };
    let is_script = |name: &str| [".ts", ".mts", ".js", ".mjs"].iter().any(|ending| name.ends_with(ending));
    let mut some_script = false;
    let none_of_the_guard = entries.all(|entry| {
        let Ok(name) = entry.map(|entry| entry.file_name()) else { return false };
        let name = name.to_string_lossy();
        some_script |= is_script(&name);
        !name.ends_with(".json") && name != MODULES_FOLDER
    });
    some_script && none_of_the_guard
}

fn user_hooks(user: &UserDirs) -> PathBuf {
    user.config.join(USER_HOOKS_FOLDER)
}

fn add(folders: &mut Vec<PathBuf>, folder: PathBuf) {
    if !folders.contains(&folder) {
        folders.push(folder);
    }
}

fn rules_above(start: &str, hints: &Hints) -> Option<PathBuf> {
    nearest_with_rules(&absolute(start, hints)?)
}

fn absolute(start: &str, hints: &Hints) -> Option<PathBuf> {
    let path = Path::new(start);
    let path = if path.is_absolute() { path.to_path_buf() } else { Path::new(hints.process_cwd()?).join(path) };
    Some(normalise_path(&path))
}
