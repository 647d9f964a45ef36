//! Chooses the modules that see an event, in the order they run.

use crate::event::EventName;
use crate::manifest::PipelineManifest;
use crate::module::Module;

/// A module with the flags that hold for it.
#[derive(Clone, Copy)]
pub struct Slot<'m> {
    /// The module.
    pub module: &'m dyn Module,
    /// Lower runs first.
    pub priority: i32,
    /// Whether its failure denies a tool call.
    pub critical: bool,
    /// Whether it may run before a tool call.
    pub hot_path_safe: bool,
}

impl<'m> Slot<'m> {
    /// A module with its own flags.
    #[must_use]
    pub fn of(module: &'m dyn Module) -> Self {
        Self { module, priority: module.priority(), critical: module.critical(), hot_path_safe: module.hot_path_safe() }
    }
}

/// What was chosen.
pub struct Selection<'m> {
    /// The modules that run, first one first.
    pub slots: Vec<Slot<'m>>,
    /// Enabled modules that do not exist.
    pub missing: Vec<String>,
}

/// The enabled modules that support the event, by priority and then by their place in the manifest.
#[must_use]
pub fn select<'m>(manifest: &PipelineManifest, available: &[&'m dyn Module], event: &EventName) -> Selection<'m> {
    let mut slots = Vec::new();
    let mut missing = Vec::new();
    for entry in manifest.modules.iter().filter(|entry| entry.enabled) {
        let Some(module) = available.iter().copied().find(|module| module.name() == entry.name) else {
            missing.push(entry.name.clone());
            continue;
        };
        let own = Slot::of(module);
        let slot = Slot {
            module,
            priority: entry.priority.unwrap_or(own.priority),
            critical: entry.critical.unwrap_or(own.critical),
            hot_path_safe: entry.hot_path_safe.unwrap_or(own.hot_path_safe),
        };
        let runs = module.supports(event) && (*event != EventName::PreToolUse || slot.hot_path_safe);
        if runs {
            slots.push(slot);
        }
    }
    slots.sort_by_key(|slot| slot.priority);
    Selection { slots, missing }
}
