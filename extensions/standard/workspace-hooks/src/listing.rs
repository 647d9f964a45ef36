//! The hooks of a workspace as people look at them: what is written down, what of it runs, and when.

use crate::approval::HooksInForce;
use crate::config::{HookConfig, WrittenHooks};
use crate::contract::{Hook, HookSet};
use crate::timetable::Timetable;
use crate::watch::without_watcher;
use crate::worker::Workers;
use dispatch_contracts::folders::Folders;
use std::path::Path;
use std::sync::Arc;

/// The hooks of a workspace.
#[derive(Clone, Debug)]
pub struct HookListing {
    /// What is written down, whether it may run or not.
    pub written: Arc<WrittenHooks>,
    /// What of it runs; it says of each of the others why it does not.
    pub set: HookSet,
}

/// Reads what is written down in the file of the workspace and in the user's own.
#[must_use]
pub fn read_hook_files(workspace: &Path, folders: &Folders) -> Arc<WrittenHooks> {
    let mut config = HookConfig::new(workspace, &folders.config, &folders.state);
    config.refresh();
    Arc::clone(config.written())
}

/// Lists the hooks of a workspace with what is approved, and with what the process that watches it cannot notice.
#[must_use]
pub fn list_hooks(workspace: &Path, folders: &Folders) -> HookListing {
    let mut in_force = HooksInForce::new(workspace, folders);
    let mut set = HookSet::clone(&in_force.refresh());
    if let Some(why) = Workers::new(&folders.state).unheard(workspace) {
        set = without_watcher(set, &why);
    }
    HookListing { written: Arc::clone(in_force.written()), set }
}

/// When the time table of a hook starts it next after a moment, both in Unix milliseconds.
#[must_use]
pub fn next_start_ms(hook: &Hook, now_ms: i64) -> Option<i64> {
    Timetable::parse(hook.schedule.as_deref()?).ok()?.next_after(now_ms)
}
