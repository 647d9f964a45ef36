//! Chooses the modules that see an event, in the order they run.

use dispatch_hook_module::{EventName, Module, ModuleSpec};

use crate::manifest::PipelineManifest;

/// A module with the facts that hold for it.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'m> {
    /// The module.
    pub module: &'m dyn Module,
    /// Its own facts, as far as the manifest does not say otherwise.
    pub spec: ModuleSpec<'m>,
}

impl<'m> Slot<'m> {
    /// A module with its own facts.
    #[must_use]
    pub(crate) fn of(module: &'m dyn Module) -> Self {
        Self { module, spec: module.spec() }
    }
}

/// What was chosen.
pub(crate) struct Selection<'m> {
    /// The modules that run, first one first.
    pub slots: Vec<Slot<'m>>,
    /// Enabled modules that do not exist.
    pub missing: Vec<String>,
}

/// The enabled modules that support the event, by priority and then by their place in the manifest.
#[must_use]
pub(crate) fn select<'m>(
    manifest: &PipelineManifest,
    available: &[&'m dyn Module],
    event: &EventName,
) -> Selection<'m> {
    let mut slots = Vec::new();
    let mut missing = Vec::new();
    for entry in manifest.modules.iter().filter(|entry| entry.enabled) {
        let Some(module) = available.iter().copied().find(|module| module.spec().name == entry.name) else {
            missing.push(entry.name.clone());
            continue;
        };
        let own = module.spec();
        let spec = ModuleSpec {
            priority: entry.priority.unwrap_or(own.priority),
            critical: entry.critical.unwrap_or(own.critical),
            hot_path_safe: entry.hot_path_safe.unwrap_or(own.hot_path_safe),
            ..own
        };
        if spec.handles(event) && (*event != EventName::PreToolUse || spec.hot_path_safe) {
            slots.push(Slot { module, spec });
        }
    }
    slots.sort_by_key(|slot| slot.spec.priority);
    Selection { slots, missing }
}
