//! Which rule files of a project the user approved: only those may weaken what the built-in rules refuse.

use std::path::Path;

use dispatch_hook_module::{LAYOUT_NAME, Paths};
use dispatch_trust::{Approval, Trust};

use crate::config::{CONFIG_LIMIT_BYTES, Config, read_rules};
use crate::manifest::{MANIFEST_LIMIT_BYTES, PipelineManifest};

/// Where approvals come from.
#[derive(Debug, Clone, Copy)]
pub enum RuleTrust<'a> {
    /// Everything counts as approved.
    Everything,
    /// What this file lists; it is read only when a file would weaken something.
    File(&'a Path),
    /// Nothing.
    Nothing,
}

impl RuleTrust<'_> {
    /// Whether the user approved this content.
    pub(crate) fn is_approved(self, content: &[u8]) -> bool {
        match self {
            Self::Everything => true,
            Self::File(file) => Trust::load(file).is_approved(content),
            Self::Nothing => false,
        }
    }

    /// Whether the user approved this content of this file, and not only of a copy elsewhere.
    pub(crate) fn is_approved_at(self, path: &Path, content: &[u8]) -> bool {
        match self {
            Self::Everything => true,
            Self::File(file) => {
                let trust = Trust::load(file);
                let real = dispatch_os::files::canonicalize(path).ok();
                let mut places = std::iter::once(path).chain(real.as_deref());
                places.any(|place| trust.approval(place, content) == Approval::Approved)
            }
            Self::Nothing => false,
        }
    }
}

/// What the rule files of a project weaken without having been approved; it has no effect.
#[must_use]
pub fn weakened_rules(paths: &Paths, trust: RuleTrust<'_>) -> Vec<String> {
    let unapproved = |bytes: Option<Vec<u8>>| bytes.filter(|bytes| !trust.is_approved(bytes));
    let manifest = unapproved(read_rules(&paths.manifest_file(), MANIFEST_LIMIT_BYTES).0);
    let config = unapproved(read_rules(&paths.config_file(), CONFIG_LIMIT_BYTES).0);
    let manifest = manifest.map(|bytes| PipelineManifest::parse(&bytes).0.tighten()).unwrap_or_default();
    let config = config.map(|bytes| Config::parse(&bytes).0.tighten()).unwrap_or_default();
    let manifest = manifest.iter().map(|what| not_in_force("dispatch.manifest.json", what));
    let rules = manifest.chain(config.iter().map(|what| not_in_force("config.json", what)));
    rules.chain(crate::work_layout::waiting(&paths.repo_root, trust)).collect()
}

/// What is said about a part of a file that does not count.
pub(crate) fn not_in_force(file: &str, what: &str) -> String {
    let does = if file == LAYOUT_NAME { "moves files of sessions" } else { "weakens the rules" };
    format!("`{what}` in {file} {does} and is not approved, so it has no effect; `dispatch trust` approves it")
}
