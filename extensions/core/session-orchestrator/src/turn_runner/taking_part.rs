//! Which extensions take part in turns, found out again only when one begins or ceases to.

use crate::scope::{SettingDigests, own_settings};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::Tier;
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::{ExtensionHost, ExtensionState, HostHandle};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The active extensions beside the core, and the settings that matter to them.
type ActiveExtensions = (Arc<BTreeSet<String>>, Arc<SettingDigests>);

/// What was found last.
#[derive(Default)]
pub(super) struct TakingPart {
    known: Mutex<Option<ActiveExtensions>>,
}

impl TakingPart {
    /// What holds now: an extension that is not active takes no part in a turn.
    pub(super) fn now(&self, kernel: &HostHandle, settings: &Settings) -> ActiveExtensions {
        let Some(kernel) = kernel.get() else {
            return (Arc::default(), Arc::new(own_settings(settings, &BTreeSet::new())));
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(found) if is_unchanged(&kernel, &found.0) => found.clone(),
            _ => known.insert(find(&kernel, settings)).clone(),
        }
    }
}

fn takes_part(tier: Option<Tier>, state: &ExtensionState) -> bool {
    tier != Some(Tier::Core) && matches!(state, ExtensionState::Active | ExtensionState::Lazy)
}

fn is_unchanged(kernel: &ExtensionHost, known: &BTreeSet<String>) -> bool {
    let (mut count, mut all_known) = (0, true);
    kernel.each_state(|id: &ExtensionId, tier, state| {
        if takes_part(tier, state) {
            count += 1;
            all_known &= known.contains(id.as_str());
        }
    });
    all_known && count == known.len()
}

fn find(kernel: &ExtensionHost, settings: &Settings) -> ActiveExtensions {
    let (mut active, mut core) = (BTreeSet::new(), BTreeSet::new());
    kernel.each_state(|id, tier, state| {
        if takes_part(tier, state) {
            active.insert(id.to_string());
        } else if tier == Some(Tier::Core) {
            core.insert(id.to_string());
        }
    });
    (Arc::new(active), Arc::new(own_settings(settings, &core)))
}
