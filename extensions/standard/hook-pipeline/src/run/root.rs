//! Finds the workspace whose rules hold for an event.

use std::path::{Path, PathBuf};

use dispatch_hook_dialects::dialect::Hints;
use dispatch_hook_module::{HOOKS_FOLDER, HookEvent, nearest_with_rules};
use dispatch_os::paths::normalise_path;

use super::Invocation;

/// The workspace with rules that the event belongs to; nothing if there are none.
///
/// The event's folder comes first, then the project that the host names, then where the process
/// runs: an agent that changes its folder does not leave its rules behind.
pub(super) fn find(invocation: &Invocation<'_>, event: &HookEvent) -> Option<PathBuf> {
    if let Some(root) = invocation.root {
        return dispatch_os::files::is_dir(root.join(HOOKS_FOLDER)).then(|| root.to_path_buf());
    }
    let hints = invocation.hints;
    let starts = event.cwd.as_deref().into_iter().chain(hints.project_folders()).chain(hints.process_cwd());
    starts.filter_map(|start| absolute(start, hints)).find_map(|start| nearest_with_rules(&start))
}

fn absolute(start: &str, hints: &Hints) -> Option<PathBuf> {
    let path = Path::new(start);
    let path = if path.is_absolute() { path.to_path_buf() } else { Path::new(hints.process_cwd()?).join(path) };
    Some(normalise_path(&path))
}
