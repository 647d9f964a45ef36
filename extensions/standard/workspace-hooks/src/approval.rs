//! Which of the hooks that are written down may run: a hook that came with a workspace does nothing until the user
//! approved it, and one that has changed since waits for the user again.

mod hook_approvals;

use crate::config::file::{ParseContext, parse};
use crate::config::{ChangeProbe, HookConfig, HookOrigin, Refreshed, WrittenHooks, real_folder};
use crate::contract::{Dormant, HookSet};
use crate::file_names::{FOLDER, HOOKS_FILE};
use dispatch_os::files;
use dispatch_trust::Trust;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hook_approvals::APPROVALS_FILE;
pub use hook_approvals::{HookApprovals, HookFileValidity};

/// The approvals of the user, beside which those of single hooks are kept.
const TRUST_FILE: &str = "trust.json";

const SWITCHED_OFF: &str = "it is switched off with `enabled: false`";
const UNKNOWN: &str = "it is not approved; review it, then run `dispatch trust .akira/hooks.json`";
const CHANGED: &str = "it has changed since it was approved; review it, then run `dispatch trust .akira/hooks.json`";

/// The hooks of a workspace that may run, kept up to date.
#[derive(Debug)]
pub(crate) struct HooksInForce {
    config: HookConfig,
    trust_file: PathBuf,
    approvals_file: PathBuf,
    trust_probe: ChangeProbe,
    approvals_probe: ChangeProbe,
    set: Arc<HookSet>,
}

impl HooksInForce {
    /// The hooks of a workspace, with the user's folders of settings and of data.
    pub(crate) fn new(workspace: &Path, config_folder: &Path, data_folder: &Path) -> Self {
        Self {
            config: HookConfig::new(workspace, config_folder),
            trust_file: data_folder.join(TRUST_FILE),
            approvals_file: data_folder.join(APPROVALS_FILE),
            trust_probe: ChangeProbe::default(),
            approvals_probe: ChangeProbe::default(),
            set: Arc::default(),
        }
    }

    /// The hooks that may run now. Costs a look at four files if nothing has changed.
    pub(crate) fn refresh(&mut self) -> Arc<HookSet> {
        let looks = [
            self.config.refresh(),
            self.trust_probe.changed(&self.trust_file),
            self.approvals_probe.changed(&self.approvals_file),
        ];
        if looks.contains(&Refreshed::Changed) {
            // Approvals that cannot be read approve nothing.
            let trust = Trust::load(&self.trust_file);
            let approvals = HookApprovals::load(&self.approvals_file);
            let set = in_force(self.config.written(), self.config.workspace_file(), &trust, &approvals);
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

/// What may run of what is written down.
pub(crate) fn in_force(written: &WrittenHooks, file: &Path, trust: &Trust, approvals: &HookApprovals) -> HookSet {
    let whole = written.workspace_content.as_ref().is_some_and(|content| trust.is_approved_fingerprint(content));
    let file = real_file(file);
    let mut set = HookSet { problems: written.problems.clone(), ..HookSet::default() };
    let mut of_workspace = false;
    for one in &written.hooks {
        let approved = whole || one.origin == HookOrigin::Global || approvals.holds(&file, &one.hook.fingerprint);
        let reason = match approved {
            _ if !one.hook.enabled => Some(SWITCHED_OFF),
            true => None,
            false if approvals.knows(&file) => Some(CHANGED),
            false => Some(UNKNOWN),
        };
        match reason {
            Some(reason) => {
                set.dormant.push(Dormant { hook_id: one.hook.id.clone(), reason: reason.to_owned() });
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

/// The fingerprints of the hooks in the content of a file of hooks.
fn fingerprints_in(path: &Path, content: &[u8]) -> (BTreeSet<String>, HookFileValidity) {
    let workspace = path.parent().and_then(Path::parent).unwrap_or(path);
    let around = ParseContext { workspace, folder: &real_folder, taken: &BTreeSet::new(), secret_patterns: &[] };
    let parsed = parse(crate::file_names::SHOWN, content, &around);
    let validity = if parsed.problems.is_empty() { HookFileValidity::Valid } else { HookFileValidity::Invalid };
    (parsed.hooks.into_iter().map(|hook| hook.fingerprint).collect(), validity)
}

/// The file by the one name that has no links in it.
pub(crate) fn real_file(path: &Path) -> PathBuf {
    match (path.parent().and_then(|folder| files::canonicalize(folder).ok()), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests;
