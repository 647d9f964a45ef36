//! Which of the hooks that are written down may run: a hook that came with a workspace does nothing until the user
//! approved it, and one that has changed since waits for the user again.

mod remembered;

use crate::config::file::{Surroundings, parse};
use crate::config::{Config, Glance, Origin, Refreshed, Written, real_folder};
use crate::contract::{Dormant, HookSet};
use crate::root::{FOLDER, HOOKS_FILE};
use dispatch_trust::Trust;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use remembered::{APPROVALS_FILE, Approvals};

/// The approvals of the user, beside which those of single hooks are kept.
const TRUST_FILE: &str = "trust.json";

const SWITCHED_OFF: &str = "it is switched off with `enabled: false`";
const UNKNOWN: &str = "nobody approved it; look at it, then run `dispatch trust .akira/hooks.json`";
const CHANGED: &str = "it has changed since it was approved; look at it, then run `dispatch trust .akira/hooks.json`";

/// The hooks of a workspace that may run, kept up to date.
#[derive(Debug)]
pub struct InForce {
    config: Config,
    trust_file: PathBuf,
    approvals_file: PathBuf,
    trust_glance: Glance,
    approvals_glance: Glance,
    set: Arc<HookSet>,
}

impl InForce {
    /// The hooks of a workspace, with the user's folders of settings and of data.
    pub fn new(workspace: &Path, config_folder: &Path, data_folder: &Path) -> Self {
        Self {
            config: Config::new(workspace, config_folder),
            trust_file: data_folder.join(TRUST_FILE),
            approvals_file: data_folder.join(APPROVALS_FILE),
            trust_glance: Glance::default(),
            approvals_glance: Glance::default(),
            set: Arc::default(),
        }
    }

    /// The hooks that may run now. Costs a look at four files if nothing has changed.
    pub fn refresh(&mut self) -> Arc<HookSet> {
        let looks = [
            self.config.refresh(),
            self.trust_glance.changed(&self.trust_file),
            self.approvals_glance.changed(&self.approvals_file),
        ];
        if looks.contains(&Refreshed::Changed) {
            // Approvals that cannot be read approve nothing.
            let trust = Trust::load(&self.trust_file);
            let approvals = Approvals::load(&self.approvals_file);
            let set = in_force(self.config.written(), self.config.workspace_file(), &trust, &approvals);
            if set != *self.set {
                self.set = Arc::new(set);
            }
        }
        Arc::clone(&self.set)
    }

    /// Everything that is written down, as of the last look.
    pub fn written(&self) -> &Arc<Written> {
        self.config.written()
    }
}

/// What may run of what is written down.
pub(crate) fn in_force(written: &Written, file: &Path, trust: &Trust, approvals: &Approvals) -> HookSet {
    let whole = written.workspace_content.as_ref().is_some_and(|content| trust.is_approved_fingerprint(content));
    let file = real_file(file);
    let mut set = HookSet { problems: written.problems.clone(), ..HookSet::default() };
    let mut of_workspace = false;
    for one in &written.hooks {
        let approved = whole || one.origin == Origin::Global || approvals.holds(&file, &one.hook.fingerprint);
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
                of_workspace |= one.origin == Origin::Workspace;
                set.hooks.push(Arc::clone(&one.hook));
            }
        }
    }
    // A file that nobody approved must not slow down the user's own hooks either.
    let of_workspace = written.workspace_limits.filter(|_| of_workspace);
    set.limits = of_workspace.or(written.global_limits).unwrap_or_default();
    set
}

/// What the user approves with the content of a file of hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approved {
    /// The fingerprints of its hooks.
    pub fingerprints: BTreeSet<String>,
    /// How many problems the content has; with any, hooks of it may not run.
    pub problems: usize,
}

/// Whether this is the file of hooks of some workspace.
#[must_use]
pub fn is_hooks_file(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    path.file_name().is_some_and(|name| name == HOOKS_FILE) && folder.is_some_and(|name| name == FOLDER)
}

/// The hooks in the content of a file of hooks.
#[must_use]
pub fn approved_in(path: &Path, content: &[u8]) -> Approved {
    let workspace = path.parent().and_then(Path::parent).unwrap_or(path);
    let around = Surroundings { workspace, folder: &real_folder, taken: &BTreeSet::new(), secret_patterns: &[] };
    let contents = parse(crate::config::SHOWN, content, &around);
    let fingerprints = contents.hooks.into_iter().map(|hook| hook.fingerprint).collect();
    Approved { fingerprints, problems: contents.problems.len() }
}

/// The file by the one name that has no links in it.
pub(crate) fn real_file(path: &Path) -> PathBuf {
    match (path.parent().and_then(|folder| folder.canonicalize().ok()), path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests;
