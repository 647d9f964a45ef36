//! The paths of a workspace as its `workspace.json` names them, as far as the user approved that file.

use std::path::Path;
use std::sync::Arc;

use dispatch_hook_module::{HOOKS_FOLDER, LAYOUT_LIMIT_BYTES, LAYOUT_NAME, Paths, WorkLayout};

use crate::config::read_rules;
use crate::rule_trust::{RuleTrust, not_in_force};

/// The paths of a session in a workspace. What is not approved, cannot be read or leads elsewhere leaves the defaults.
#[must_use]
pub fn workspace_paths(root: &Path, session_id: &str, trust: RuleTrust<'_>) -> Paths {
    Paths::laid_out(root, session_id, in_force(root, trust))
}

fn in_force(root: &Path, trust: RuleTrust<'_>) -> Option<Arc<WorkLayout>> {
    let bytes = read(root)?;
    let (layout, _) = WorkLayout::parse(&bytes);
    (layout != WorkLayout::default() && trust.is_approved(&bytes)).then(|| Arc::new(layout))
}

fn read(root: &Path) -> Option<Vec<u8>> {
    read_rules(&root.join(HOOKS_FOLDER).join(LAYOUT_NAME), LAYOUT_LIMIT_BYTES).0
}

/// What a `workspace.json` that is not approved would move; it has no effect.
pub(crate) fn waiting(root: &Path, trust: RuleTrust<'_>) -> Vec<String> {
    let Some(bytes) = read(root).filter(|bytes| !trust.is_approved(bytes)) else {
        return Vec::new();
    };
    let names = |layout: &WorkLayout| serde_json::to_value(layout).unwrap_or_default();
    let (found, usual) = (names(&WorkLayout::parse(&bytes).0), names(&WorkLayout::default()));
    let differs = |key: &&&str| found.get(**key) != usual.get(**key);
    WorkLayout::KEYS.iter().filter(differs).map(|key| not_in_force(LAYOUT_NAME, key)).collect()
}
