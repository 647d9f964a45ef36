//! Finds the paths that a call changes, with links resolved, and whether they are complete.

mod expand;

use std::path::{Path, PathBuf};

use dispatch_hook_module::{HookEvent, is_handshake_only, is_own_mcp_tool};
use dispatch_os::files;
use dispatch_os::paths::resolve_inside;
use dispatch_toolcall::{Access, EffectPath, ShellEffects, ToolCall, ToolKind, UnboundedKind};
use serde_json::Value;

use crate::free_paths::is_build_folder;
use crate::gate::{CallTarget, TargetCertainty};
use crate::scope::TargetExtent;

/// The tool that selects an intent.
pub(crate) const SELECT_TOOL: &str = "select_active_intent";
/// Folders of the workspace that need no intent.
const FREE: [&str; 2] = [".git", ".ai/tmp"];
/// Our own files, which are not traced either.
const UNTRACED: [&str; 7] = [
    ".orchestration/archive",
    ".orchestration/.trace",
    ".orchestration/.gitattributes",
    ".orchestration/.gitignore",
    ".orchestration/agent_trace.jsonl",
    ".orchestration/agent_trace.head",
    ".orchestration/intent_map.md",
];
/// The prefix and suffix of the temporary files of our own replacements.
const OWN_TEMPORARY: (&str, &str) = (".orchestration/.dispatch-", ".tmp");
/// Words in the name of a foreign tool that changes files.
const CHANGING: [&str; 14] = [
    "write", "edit", "create", "delete", "remove", "move", "rename", "patch", "apply", "replace", "insert", "append",
    "save", "copy",
];
/// First words in the name of a foreign tool that only reads.
const LOOKING: [&str; 8] = ["read", "get", "list", "search", "find", "query", "fetch", "show"];
/// The fields in which a foreign tool names its files.
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

/// The paths that a call changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallTargets {
    /// The paths.
    pub targets: Vec<CallTarget>,
    /// Whether they are complete.
    pub certainty: TargetCertainty,
    /// Whether the tree is compared after the call.
    pub reconcile: Reconciliation,
}

/// Whether the tree is compared after a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reconciliation {
    /// It is compared.
    Tree,
    /// Comparing the targets is enough.
    Targets,
}

impl CallTargets {
    fn nothing() -> Self {
        Self { targets: Vec::new(), certainty: TargetCertainty::Known, reconcile: Reconciliation::Targets }
    }

    /// The targets in the workspace, relative to its root. One may be a folder.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.targets.iter().filter_map(|target| match target {
            CallTarget::Inside { path, .. } => Some(path.as_str()),
            CallTarget::Outside { .. } => None,
        })
    }
}

/// The paths that the call of an event changes. Reads the disk to resolve links and to find folders.
#[must_use]
pub(crate) fn targets_of_call(root: &Path, event: &HookEvent, call: &ToolCall) -> CallTargets {
    if is_select_tool(&call.name) || is_own_mcp_tool(event) {
        return CallTargets::nothing();
    }
    let mut found = CallTargets::nothing();
    let places = TargetCollector { root };
    match (call.kind, &call.effects) {
        (ToolKind::Execute, Some(effects)) if is_handshake_only(effects) => {}
        (_, Some(effects)) => places.add_effects(effects, &mut found),
        (ToolKind::Execute, None) => {
            found.certainty = TargetCertainty::Unknown;
            found.reconcile = Reconciliation::Tree;
        }
        (ToolKind::Mcp | ToolKind::Other, None) => places.add_foreign(event, call, &mut found),
        (kind, None) => {
            places.add_paths(call, &mut found);
            if kind == ToolKind::Write && call.paths.iter().all(|path| path.access == Access::Read) {
                found.certainty = TargetCertainty::Unknown;
                found.reconcile = Reconciliation::Tree;
            }
        }
    }
    if found.targets.iter().any(|target| has_other_names(root, target)) {
        found.reconcile = Reconciliation::Tree;
    }
    found
}

/// Whether a tool selects an intent, with any prefix of its host.
#[must_use]
pub(crate) fn is_select_tool(tool: &str) -> bool {
    tool.strip_suffix(SELECT_TOOL).is_some_and(|before| !before.ends_with(|last: char| last.is_ascii_alphanumeric()))
}

/// Whether a path (from the workspace's root) is not traced.
#[must_use]
pub(crate) fn is_untraced(path: &str) -> bool {
    let temporary = path.starts_with(OWN_TEMPORARY.0) && path.ends_with(OWN_TEMPORARY.1);
    temporary || FREE.iter().chain(&UNTRACED).any(|folder| is_below(path, folder))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A file with several hard links can be changed under another name.
fn has_other_names(root: &Path, target: &CallTarget) -> bool {
    let CallTarget::Inside { path, extent: TargetExtent::File } = target else {
        return false;
    };
    let metadata = files::symlink_metadata(root.join(path));
    metadata.is_ok_and(|metadata| metadata.is_file() && files::Stamp::of(&metadata).links > 1)
}

/// The resolved path; `None` for one that needs no intent.
#[must_use]
pub(crate) fn locate(root: &Path, path: &Path, follow: LinkResolution) -> Option<(String, Containment)> {
    let followed = match (follow, path.parent(), path.file_name()) {
        // Removing a link removes the link, so only the folders before it are followed.
        (LinkResolution::Folders, Some(folder), Some(name)) => resolve_inside(root, folder).map(|mut resolved| {
            resolved.path.push(name);
            resolved
        }),
        _ => resolve_inside(root, path),
    };
    let outside = || Some((path.to_string_lossy().into_owned(), Containment::No));
    let (Ok(resolved), Ok(real_root)) = (followed, resolve_inside(root, Path::new(""))) else {
        return outside();
    };
    let Ok(rest) = resolved.path.strip_prefix(&real_root.path) else {
        return Some((resolved.path.to_string_lossy().into_owned(), Containment::No));
    };
    let parts: Vec<_> = rest.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let text = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
    (!FREE.iter().any(|folder| is_below(&text, folder))).then_some((text, Containment::Yes))
}

/// Whether a link in the last part of a path is resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkResolution {
    /// It is: a write goes through it.
    All,
    /// Only the folders before it are: a removal does not touch its target.
    Folders,
}

/// Whether a path is in the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Containment {
    /// Inside.
    Yes,
    /// Outside.
    No,
}

struct TargetCollector<'a> {
    root: &'a Path,
}

impl TargetCollector<'_> {
    fn add_effects(&self, effects: &ShellEffects, found: &mut CallTargets) {
        let by_git = effects.commands.iter().any(|command| command.program == "git");
        for path in &effects.writes {
            // What a merge, a checkout or a pull changes is known afterwards, and judged then.
            if by_git && path.recursive && self.is_root(&self.root.join(&path.path)) {
                found.certainty = TargetCertainty::Unknown;
                continue;
            }
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
        // A pattern that cannot be expanded still names the folder whose content is removed.
        for unbounded in effects.unbounded.iter().filter(|found| found.what == UnboundedKind::RecursiveDelete) {
            let folder = expand::fixed_folder(&self.root.join(&unbounded.target));
            if found.targets.is_empty() && !is_absent_build_folder(&folder) {
                self.push(&folder, Access::Delete, TargetExtent::Folder, found);
            }
        }
        if !effects.is_known() || effects.runs_code {
            found.certainty = TargetCertainty::Unknown;
        }
        if found.certainty == TargetCertainty::Unknown || effects.changes_files() {
            found.reconcile = Reconciliation::Tree;
        }
    }

    fn is_root(&self, path: &Path) -> bool {
        matches!(locate(self.root, path, LinkResolution::All), Some((path, Containment::Yes)) if path == ".")
    }

    fn add_effect(&self, effect: &EffectPath, access: Access, found: &mut CallTargets) {
        let path = self.root.join(&effect.path);
        match effect.glob {
            false if access == Access::Delete => self.add_removed(&path, found),
            false if effect.recursive => self.push(&path, access, TargetExtent::Folder, found),
            false => self.add(&path, access, found),
            true => match expand::matches(&path) {
                Some(paths) if access == Access::Delete => paths.iter().for_each(|path| self.add_removed(path, found)),
                Some(paths) => paths.iter().for_each(|path| self.add(path, access, found)),
                None => self.push(&expand::fixed_folder(&path), access, TargetExtent::Folder, found),
            },
        }
    }

    /// Adds a removed file, or all files in a removed folder.
    fn add_removed(&self, path: &Path, found: &mut CallTargets) {
        if is_absent_build_folder(path) {
            return;
        }
        let is_folder = files::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        match expand::files_below(path).filter(|_| is_folder) {
            Some(files) => files.iter().for_each(|file| self.push(file, Access::Delete, TargetExtent::File, found)),
            None if is_folder => self.push(path, Access::Delete, TargetExtent::Folder, found),
            None => self.push(path, Access::Delete, TargetExtent::File, found),
        }
    }

    fn add_paths(&self, call: &ToolCall, found: &mut CallTargets) {
        for path in call.paths.iter().filter(|path| path.access != Access::Read) {
            self.push(&self.root.join(&path.path), path.access, TargetExtent::File, found);
        }
    }

    /// Adds the files of an unknown tool, as far as its name and arguments show them.
    fn add_foreign(&self, event: &HookEvent, call: &ToolCall, found: &mut CallTargets) {
        let name = call.name.rsplit("__").next().unwrap_or(&call.name).to_ascii_lowercase();
        let words: Vec<&str> = name.split(|character: char| !character.is_ascii_alphanumeric()).collect();
        let changes = words.iter().any(|word| CHANGING.contains(word));
        // The name of a tool of a server proves nothing; a host's own tools say what they do.
        if call.kind == ToolKind::Other && !changes && words.first().is_some_and(|first| LOOKING.contains(first)) {
            return;
        }
        found.reconcile = Reconciliation::Tree;
        if !changes {
            return;
        }
        let base = event.cwd.as_deref().map_or_else(|| self.root.to_path_buf(), PathBuf::from);
        for text in PATH_FIELDS.iter().filter_map(|field| event.tool_input.get(*field)).flat_map(texts) {
            self.add(&base.join(text), Access::Write, found);
        }
    }

    /// Adds a path that may be a folder.
    fn add(&self, path: &Path, access: Access, found: &mut CallTargets) {
        let extent =
            if access == Access::Create || files::is_dir(path) { TargetExtent::Folder } else { TargetExtent::File };
        self.push(path, access, extent, found);
    }

    fn push(&self, path: &Path, access: Access, extent: TargetExtent, found: &mut CallTargets) {
        let follow = if access == Access::Delete { LinkResolution::Folders } else { LinkResolution::All };
        let target = match locate(self.root, path, follow) {
            None => return,
            Some((path, Containment::No)) => CallTarget::Outside { path },
            Some((path, Containment::Yes)) => CallTarget::Inside { path, extent },
        };
        if !found.targets.contains(&target) {
            found.targets.push(target);
        }
    }
}

/// Whether a path names a build folder that does not exist: build scripts clean what may not be there yet.
fn is_absent_build_folder(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    is_build_folder(name) && files::symlink_metadata(path).is_err()
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
