//! Which hooks do not run while the file system cannot be watched.
//!
//! Pure.

use crate::contract::{Dormant, HookSet, Trigger};

/// The hooks, those asleep that the file system starts; `why` begins with the code of the failure.
#[must_use]
pub fn without_watcher(mut set: HookSet, why: &str) -> HookSet {
    let (asleep, awake): (Vec<_>, Vec<_>) = set.hooks.into_iter().partition(|hook| is_noticed(&hook.trigger));
    set.hooks = awake;
    set.dormant.extend(asleep.iter().map(|hook| Dormant {
        hook_id: hook.id.clone(),
        reason: why.to_owned(),
        waits_for_approval: false,
    }));
    set
}

const fn is_noticed(trigger: &Trigger) -> bool {
    matches!(trigger, Trigger::DidSave | Trigger::DidCreate | Trigger::DidDelete | Trigger::DidRename)
}
