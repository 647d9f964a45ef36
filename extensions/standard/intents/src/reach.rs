//! What a call reaches: the paths it changes, where they really are, and whether that is all.

mod expand;

use std::path::{Path, PathBuf};

use dispatch_hook_module::{HookEvent, is_handshake_only, is_own_mcp_tool};
use dispatch_os::paths::resolve_inside;
use dispatch_toolcall::{Access, EffectPath, ShellEffects, ToolCall, ToolKind, UnboundedKind};
use serde_json::Value;

use crate::gate::{Certainty, Target};
use crate::scope::Extent;

/// The tool that makes an intent active.
pub const SELECT_TOOL: &str = "select_active_intent";
/// What nobody needs an intent for, below the workspace.
const FREE: [&str; 2] = [".git", ".ai/tmp"];
/// What is not traced beside that: our own bookkeeping.
const UNTRACED: [&str; 4] = [
    ".orchestration/.trace",
    ".orchestration/agent_trace.jsonl",
    ".orchestration/agent_trace.head",
    ".orchestration/intent_map.md",
];
/// How the files look that replacing our own ones leaves for a moment.
const OWN_TEMPORARY: (&str, &str) = (".orchestration/.dispatch-", ".tmp");
/// Parts of a foreign tool's name that say it changes files.
const CHANGING: [&str; 14] = [
    "write", "edit", "create", "delete", "remove", "move", "rename", "patch", "apply", "replace", "insert", "append",
    "save", "copy",
];
/// The first part of a foreign tool's name when it only looks.
const LOOKING: [&str; 8] = ["read", "get", "list", "search", "find", "query", "fetch", "show"];
/// Where a foreign tool names its files.
const PATH_FIELDS: [&str; 12] = [
    "path",
    "file_path",
    "filePath",
    "file",
    "filename",
    "source",
    "destination",
    "target",
    "target_file",
    "to",
    "from",
    "paths",
];

/// What a call reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// What it changes.
    pub targets: Vec<Target>,
    /// Whether the gate may rely on that.
    pub certainty: Certainty,
    /// Whether the tree is compared afterwards.
    pub reconcile: Reconcile,
}

/// Whether the tree is compared after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconcile {
    /// It is.
    Tree,
    /// The targets suffice.
    Targets,
}

impl Reach {
    fn nothing() -> Self {
        Self { targets: Vec::new(), certainty: Certainty::Known, reconcile: Reconcile::Targets }
    }

    /// The targets in the workspace, from its root. One may turn out to be a folder.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter_map(|target| match target {
            Target::Inside { path, .. } => Some(path.as_str()),
            Target::Outside { .. } => None,
        })
    }
}

/// What the call of an event reaches. Looks at the disk to follow links and to see folders.
#[must_use]
pub fn reach(root: &Path, event: &HookEvent, call: &ToolCall) -> Reach {
    if is_selection(&call.name) || is_own_mcp_tool(event) {
        return Reach::nothing();
    }
    let mut found = Reach::nothing();
    let places = Places { root };
    match (call.kind, &call.effects) {
        (ToolKind::Execute, Some(effects)) if is_handshake_only(effects) => {}
        (_, Some(effects)) => places.add_effects(effects, &mut found),
        (ToolKind::Execute, None) => {
            found.certainty = Certainty::Unknown;
            found.reconcile = Reconcile::Tree;
        }
        (ToolKind::Mcp | ToolKind::Other, None) => places.add_foreign(event, call, &mut found),
        (kind, None) => {
            places.add_paths(call, &mut found);
            if kind == ToolKind::Write && call.paths.iter().all(|path| path.access == Access::Read) {
                found.certainty = Certainty::Unknown;
                found.reconcile = Reconcile::Tree;
            }
        }
    }
    if found.targets.iter().any(|target| has_other_names(root, target)) {
        found.reconcile = Reconcile::Tree;
    }
    found
}

/// Whether a tool is the selection of an intent, whatever its host puts before the name.
#[must_use]
pub fn is_selection(tool: &str) -> bool {
    tool.strip_suffix(SELECT_TOOL).is_some_and(|before| !before.ends_with(|last: char| last.is_ascii_alphanumeric()))
}

/// Whether a path (from the workspace's root) is never traced.
#[must_use]
pub fn is_untraced(path: &str) -> bool {
    let temporary = path.starts_with(OWN_TEMPORARY.0) && path.ends_with(OWN_TEMPORARY.1);
    temporary || FREE.iter().chain(&UNTRACED).any(|folder| is_below(path, folder))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A file with a second name can be changed under that name, which the path does not tell.
fn has_other_names(root: &Path, target: &Target) -> bool {
    let Target::Inside { path, extent: Extent::File } = target else {
        return false;
    };
    let metadata = root.join(path).symlink_metadata();
    metadata.is_ok_and(|metadata| metadata.is_file() && dispatch_os::files::Stamp::of(&metadata).links > 1)
}

/// Where a path leads; nothing for one that nobody needs an intent for.
#[must_use]
pub fn locate(root: &Path, path: &Path, follow: Follow) -> Option<(String, Inside)> {
    let followed = match (follow, path.parent(), path.file_name()) {
        // Removing a link removes the link, so only the folders before it are followed.
        (Follow::Folders, Some(folder), Some(name)) => resolve_inside(root, folder).map(|mut resolved| {
            resolved.path.push(name);
            resolved
        }),
        _ => resolve_inside(root, path),
    };
    let outside = || Some((path.to_string_lossy().into_owned(), Inside::No));
    let (Ok(resolved), Ok(real_root)) = (followed, resolve_inside(root, Path::new(""))) else {
        return outside();
    };
    let Ok(rest) = resolved.path.strip_prefix(&real_root.path) else {
        return Some((resolved.path.to_string_lossy().into_owned(), Inside::No));
    };
    let parts: Vec<_> = rest.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let text = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
    (!FREE.iter().any(|folder| is_below(&text, folder))).then_some((text, Inside::Yes))
}

/// Whether the last part of a path is followed if it is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// It is: writing goes through it.
    All,
    /// Only the folders before it are: removing it leaves what it leads to.
    Folders,
}

/// Whether a path is in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// It is.
    Yes,
    /// It is not.
    No,
}

struct Places<'a> {
    root: &'a Path,
}

impl Places<'_> {
    fn add_effects(&self, effects: &ShellEffects, found: &mut Reach) {
        for path in &effects.writes {
            self.add_effect(path, Access::Write, found);
        }
        for path in &effects.creates {
            self.add_effect(path, Access::Create, found);
        }
        for path in &effects.deletes {
            self.add_effect(path, Access::Delete, found);
        }
        for moved in &effects.moves {
            self.add_effect(&moved.from, Access::Delete, found);
            self.add_effect(&moved.to, Access::Write, found);
        }
        // A pattern that cannot be told still names the folder that everything goes away from.
        for unbounded in effects.unbounded.iter().filter(|found| found.what == UnboundedKind::RecursiveDelete) {
            let folder = expand::fixed_folder(&self.root.join(&unbounded.target));
            if found.targets.is_empty() {
                self.push(&folder, Access::Delete, Extent::Folder, found);
            }
        }
        if !effects.is_known() || effects.runs_code {
            found.certainty = Certainty::Unknown;
        }
        if found.certainty == Certainty::Unknown || effects.changes_files() {
            found.reconcile = Reconcile::Tree;
        }
    }

    fn add_effect(&self, effect: &EffectPath, access: Access, found: &mut Reach) {
        let path = self.root.join(&effect.path);
        match effect.glob {
            false if access == Access::Delete => self.add_removed(&path, found),
            false if effect.recursive => self.push(&path, access, Extent::Folder, found),
            false => self.add(&path, access, found),
            true => match expand::matches(&path) {
                Some(paths) if access == Access::Delete => paths.iter().for_each(|path| self.add_removed(path, found)),
                Some(paths) => paths.iter().for_each(|path| self.add(path, access, found)),
                None => self.push(&expand::fixed_folder(&path), access, Extent::Folder, found),
            },
        }
    }

    /// What goes away: a file, or everything in a folder.
    fn add_removed(&self, path: &Path, found: &mut Reach) {
        let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        match expand::files_below(path).filter(|_| is_folder) {
            Some(files) => files.iter().for_each(|file| self.push(file, Access::Delete, Extent::File, found)),
            None if is_folder => self.push(path, Access::Delete, Extent::Folder, found),
            None => self.push(path, Access::Delete, Extent::File, found),
        }
    }

    fn add_paths(&self, call: &ToolCall, found: &mut Reach) {
        for path in call.paths.iter().filter(|path| path.access != Access::Read) {
            self.push(&self.root.join(&path.path), path.access, Extent::File, found);
        }
    }

    /// A tool that no table knows: its name and its arguments may still tell what it changes.
    fn add_foreign(&self, event: &HookEvent, call: &ToolCall, found: &mut Reach) {
        let name = call.name.rsplit("__").next().unwrap_or(&call.name).to_ascii_lowercase();
        let words: Vec<&str> = name.split(|character: char| !character.is_ascii_alphanumeric()).collect();
        if words.first().is_some_and(|first| LOOKING.contains(first)) {
            return;
        }
        found.reconcile = Reconcile::Tree;
        if !words.iter().any(|word| CHANGING.contains(word)) {
            return;
        }
        let base = event.cwd.as_deref().map_or_else(|| self.root.to_path_buf(), PathBuf::from);
        for text in PATH_FIELDS.iter().filter_map(|field| event.tool_input.get(*field)).flat_map(texts) {
            self.add(&base.join(text), Access::Write, found);
        }
    }

    /// A path that may turn out to be a folder.
    fn add(&self, path: &Path, access: Access, found: &mut Reach) {
        let extent = if access == Access::Create || path.is_dir() { Extent::Folder } else { Extent::File };
        self.push(path, access, extent, found);
    }

    fn push(&self, path: &Path, access: Access, extent: Extent, found: &mut Reach) {
        let follow = if access == Access::Delete { Follow::Folders } else { Follow::All };
        let target = match locate(self.root, path, follow) {
            None => return,
            Some((path, Inside::No)) => Target::Outside { path },
            Some((path, Inside::Yes)) => Target::Inside { path, extent },
        };
        if !found.targets.contains(&target) {
            found.targets.push(target);
        }
    }
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
