//! What the files hold that hooks name, read again only when they look different.

use super::named_files::{MAX_NAMED_PATHS, named_paths};
use crate::config::{ChangeProbe, HookOrigin, Refreshed, WrittenHooks};
use crate::content::content_hash;
use crate::contract::{ContentHash, Hook};
use crate::watch::slashed;
use dispatch_os::files;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files that a command names, relative to the workspace, and what they hold. None if it names too many.
pub(crate) type CommandFiles = Option<BTreeMap<String, ContentHash>>;

/// The files that the hooks of one workspace name.
#[derive(Debug, Default)]
pub(crate) struct NamedFileHashes {
    files: BTreeMap<PathBuf, ProbedFile>,
    of_hook: BTreeMap<String, BTreeSet<PathBuf>>,
}

#[derive(Debug, Default)]
struct ProbedFile {
    probe: ChangeProbe,
    hash: Option<ContentHash>,
}

impl NamedFileHashes {
    /// Finds out which files the hooks of the workspace name.
    pub(crate) fn take(&mut self, written: &WrittenHooks, workspace: &Path) {
        let hooks = written.hooks.iter().filter(|one| one.origin == HookOrigin::Workspace);
        let is_folder = |path: &Path| files::is_dir(path);
        self.of_hook = hooks.map(|one| (one.hook.id.clone(), named_paths(&one.hook, workspace, &is_folder))).collect();
        let named: BTreeSet<&PathBuf> = self.of_hook.values().flatten().collect();
        self.files.retain(|path, _| named.contains(path));
        for path in named {
            self.files.entry(path.clone()).or_default();
        }
    }

    /// Looks at each file again.
    pub(crate) fn refresh(&mut self) -> Refreshed {
        let mut refreshed = Refreshed::Same;
        for (path, file) in &mut self.files {
            if file.probe.changed(path) == Refreshed::Changed {
                let hash = hash_of(path);
                if hash != file.hash {
                    file.hash = hash;
                    refreshed = Refreshed::Changed;
                }
            }
        }
        refreshed
    }

    /// What the files hold that a hook names.
    pub(crate) fn of(&self, hook: &str, workspace: &Path) -> CommandFiles {
        let paths = self.of_hook.get(hook)?;
        let hash = |path: &PathBuf| Some((relative(path, workspace), self.files.get(path)?.hash.clone()?));
        (paths.len() <= MAX_NAMED_PATHS).then(|| paths.iter().filter_map(hash).collect())
    }
}

/// The files that a hook's command names, as they are now.
pub(super) fn command_files(hook: &Hook, workspace: &Path) -> CommandFiles {
    let paths = named_paths(hook, workspace, &|path: &Path| files::is_dir(path));
    let hash = |path: &PathBuf| Some((relative(path, workspace), hash_of(path)?));
    (paths.len() <= MAX_NAMED_PATHS).then(|| paths.iter().filter_map(hash).collect())
}

/// What a file holds; a link counts as what it leads to.
fn hash_of(path: &Path) -> Option<ContentHash> {
    content_hash(&files::canonicalize(path).ok()?)
}

fn relative(path: &Path, workspace: &Path) -> String {
    slashed(path.strip_prefix(workspace).unwrap_or(path)).unwrap_or_else(|| path.display().to_string())
}
