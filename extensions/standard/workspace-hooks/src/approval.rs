//! Which of the hooks that are written down may run: a hook that came with a workspace does nothing until the user
//! approved it, and one that has changed since waits for the user again.

mod approved_copies;
pub(crate) mod editor_approval;
mod hook_approvals;
mod named_file_hashes;
mod named_files;
mod review;

use crate::config::{ChangeProbe, HookConfig, HookOrigin, Refreshed, WrittenHook, WrittenHooks};
use crate::contract::{Dormant, HookSet};
use crate::file_names::{FOLDER, HOOKS_FILE};
use dispatch_contracts::folders::Folders;
use dispatch_os::files;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hook_approvals::APPROVALS_FILE;
pub use hook_approvals::{HookApprovals, HookFileValidity, HookSwitch};
use named_file_hashes::{CommandFiles, NamedFileHashes};
use named_files::MAX_NAMED_PATHS;
pub use review::{HookReview, ReviewState, ReviewedText, review_hooks};

const SWITCHED_OFF: &str = "it is switched off with `enabled: false`";
const SWITCHED_OFF_BY_USER: &str = "you switched it off; `dispatch workspace-hooks enable ID` switches it on";
const UNKNOWN: &str = "it is not approved; review it, then run `dispatch trust .akira/hooks.json`";
const REVIEW: &str = "review it, then run `dispatch trust .akira/hooks.json`";
const CHANGED: &str = "it has changed since it was approved; review it, then run `dispatch trust .akira/hooks.json`";

/// The hooks of a workspace that may run, kept up to date.
#[derive(Debug)]
pub(crate) struct HooksInForce {
    config: HookConfig,
    workspace: PathBuf,
    approvals_file: PathBuf,
    named: NamedFileHashes,
    approvals_probe: ChangeProbe,
    set: Arc<HookSet>,
}

impl HooksInForce {
    /// The hooks of a workspace, with the user's folders.
    pub(crate) fn new(workspace: &Path, folders: &Folders) -> Self {
        Self {
            config: HookConfig::new(workspace, &folders.config, &folders.state),
            workspace: workspace.to_path_buf(),
            approvals_file: folders.data.join(APPROVALS_FILE),
            named: NamedFileHashes::default(),
            approvals_probe: ChangeProbe::default(),
            set: Arc::default(),
        }
    }

    /// The hooks that may run now. Costs a look at three files and at those that hooks name if nothing has changed.
    pub(crate) fn refresh(&mut self) -> Arc<HookSet> {
        let written = self.config.refresh();
        if written == Refreshed::Changed {
            self.named.take(self.config.written(), &self.workspace);
        }
        let looks = [written, self.named.refresh(), self.approvals_probe.changed(&self.approvals_file)];
        if looks.contains(&Refreshed::Changed) {
            // Approvals that cannot be read approve nothing.
            let approvals = HookApprovals::load(&self.approvals_file);
            let files = |hook: &str| self.named.of(hook, &self.workspace);
            let set = in_force(self.config.written(), self.config.workspace_file(), &approvals, &files);
            if set != *self.set {
                self.set = Arc::new(set);
            }
        }
        Arc::clone(&self.set)
    }

    /// Everything that is written down, as of the last look.
    pub(crate) fn written(&self) -> &Arc<WrittenHooks> {
        self.config.written()
    }
}

/// What may run of what is written down; `files` are those that the command of a hook names, as they are now.
fn in_force(
    written: &WrittenHooks,
    file: &Path,
    approvals: &HookApprovals,
    files: &dyn Fn(&str) -> CommandFiles,
) -> HookSet {
    let file = real_file(file);
    let mut set = HookSet { problems: written.problems.clone(), ..HookSet::default() };
    let mut of_workspace = false;
    for one in &written.hooks {
        match dormancy(one, &file, approvals, files) {
            Some((reason, waits_for_approval)) => {
                set.dormant.push(Dormant { hook_id: one.hook.id.clone(), reason, waits_for_approval });
            }
            None => {
                of_workspace |= one.origin == HookOrigin::Workspace;
                set.hooks.push(Arc::clone(&one.hook));
            }
        }
    }
    // A file that is not approved must not slow down the user's own hooks either.
    let of_workspace = written.workspace_limits.filter(|_| of_workspace);
    set.limits = of_workspace.or(written.global_limits).unwrap_or_default();
    set
}

/// Whether this is the file of hooks of some workspace.
#[must_use]
pub fn is_hooks_file(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    path.file_name().is_some_and(|name| name == HOOKS_FILE) && folder.is_some_and(|name| name == FOLDER)
}

/// Why a hook does not run, if it does not, and whether an approval would change that.
fn dormancy(
    one: &WrittenHook,
    file: &Path,
    approvals: &HookApprovals,
    files: &dyn Fn(&str) -> CommandFiles,
) -> Option<(String, bool)> {
    let hook = &one.hook;
    if !hook.enabled {
        return Some((SWITCHED_OFF.to_owned(), false));
    }
    if approvals.is_off(file, &hook.id) {
        return Some((SWITCHED_OFF_BY_USER.to_owned(), false));
    }
    if one.origin == HookOrigin::Global {
        return None;
    }
    let Some(files) = files(&hook.id) else {
        return Some((format!("its command names more than {MAX_NAMED_PATHS} files, so it cannot be approved"), false));
    };
    let Some(approved) = approvals.of(file, &hook.id) else {
        return Some((if approvals.knows(file) { CHANGED } else { UNKNOWN }.to_owned(), true));
    };
    if approved.fingerprint != hook.fingerprint {
        return Some((CHANGED.to_owned(), true));
    }
    let differs = |name: &&String| approved.files.get(*name) != files.get(*name);
    let changed = approved.files.keys().chain(files.keys()).find(differs)?;
    Some((format!("`{changed}`, which its command names, has changed since it was approved; {REVIEW}"), true))
}

/// The workspace of a file of hooks.
fn workspace_of_file(file: &Path) -> PathBuf {
    file.parent().and_then(Path::parent).unwrap_or(file).to_path_buf()
}

/// The file by the one name that has no links in it.
fn real_file(path: &Path) -> PathBuf {
    match (path.parent().and_then(|folder| files::canonicalize(folder).ok()), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests;
