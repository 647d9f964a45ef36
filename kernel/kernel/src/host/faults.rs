//! What happens when an extension did something wrong: written down, shown, judged, acted on.

use super::HostState;
use super::fault_policy::FaultVerdict;
use super::roster::JudgedFault;
use super::status::ExtensionState;
use crate::bus::FaultSink;
use dispatch_contracts::fault::{Disabled, Fault};
use dispatch_contracts::hooks::{EXTENSION_DISABLED, EXTENSION_FAULTED};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::Tier;
use dispatch_contracts::ports::{Level, LogRecord};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

/// Where the bus reports faults. Weak, because the host owns the bus.
pub(super) struct HostFaultSink(pub(super) Weak<HostState>);

impl FaultSink for HostFaultSink {
    fn report(&self, fault: Fault) {
        if let Some(inner) = self.0.upgrade() {
            inner.take_fault(&fault);
        }
    }
}

impl HostState {
    fn take_fault(self: &Arc<Self>, fault: &Fault) {
        let judged = self.roster.record(fault, self.budget, self.ports.clock.now_ms());
        self.log_fault(fault, judged.as_ref().map(|judged| judged.tier));
        // A handler of this very event that fails must not be told about it for ever.
        if fault.place != EXTENSION_FAULTED.id() {
            self.bus.emit(&EXTENSION_FAULTED, fault.clone());
        }
        let Some(JudgedFault { verdict, before, .. }) = judged else { return };
        match verdict {
            FaultVerdict::Keep => {}
            FaultVerdict::Fatal { reason } => self.set_fatal(&reason),
            FaultVerdict::Disable { reason } => self.disable(&fault.extension, &before, reason),
        }
    }

    fn log_fault(&self, fault: &Fault, tier: Option<Tier>) {
        let level = if tier == Some(Tier::Core) { Level::Error } else { Level::Warn };
        let fields = [
            ("extension", Value::from(fault.extension.as_str())),
            ("place", Value::from(fault.place.as_str())),
            ("kind", serde_json::to_value(fault.kind).unwrap_or_default()),
        ];
        self.log(level, fault.to_string(), fields);
    }

    /// Takes an extension out of service whose state says so already.
    fn disable(self: &Arc<Self>, id: &ExtensionId, before: &ExtensionState, reason: String) {
        let filters = self.shut_filters(id, &reason);
        let mut released = self.stop_dependents(id, &reason);
        self.dispose(id);
        let fields = [("extension", Value::from(id.as_str()))];
        self.log(
            Level::Warn,
            format!("extension `{id}` is disabled: {reason}; `dispatch ext enable {id}` brings it back"),
            fields,
        );
        let disabled = Disabled { extension: id.clone(), reason, at_ms: self.ports.clock.now_ms(), filters };
        self.disabled.add(disabled.clone());
        self.bus.emit(&EXTENSION_DISABLED, disabled);
        // One that is still starting is released when its start has ended.
        if before == &ExtensionState::Active {
            released.push(id.clone());
        }
        let inner = Arc::clone(self);
        self.ports.spawner.spawn(Box::pin(async move {
            inner.save_disabled().await;
            for id in &released {
                inner.deactivate(id).await;
            }
        }));
    }

    /// Keeps shut what the extension and its dependents guarded; answers which filters they had joined.
    fn shut_filters(&self, id: &ExtensionId, reason: &str) -> Vec<String> {
        let mut guards = self.roster.dependents(id);
        guards.push(id.clone());
        let filters: BTreeSet<String> = guards.iter().flat_map(|guard| self.bus.filters_of(guard)).collect();
        let filters: Vec<String> = filters.into_iter().collect();
        self.bus.shut(id, &filters, &shut_cause(reason));
        filters
    }

    /// Stops what cannot run without `id`; answers which of them were active.
    fn stop_dependents(&self, id: &ExtensionId, reason: &str) -> Vec<ExtensionId> {
        let mut active = Vec::new();
        for dependent in self.roster.dependents(id) {
            if !self.roster.state(&dependent).is_some_and(|state| state.is_running()) {
                continue;
            }
            let reason = format!("needs `{id}`, which is disabled: {reason}");
            self.log(Level::Warn, format!("extension `{dependent}` is stopped: it {reason}"), []);
            if self.roster.set_state(&dependent, ExtensionState::Skipped { reason }) == Some(ExtensionState::Active) {
                active.push(dependent.clone());
            }
            self.dispose(&dependent);
        }
        active
    }

    pub(super) async fn save_disabled(&self) {
        if let Err(error) = self.disabled.save_changes().await {
            self.log(Level::Error, error.to_string(), []);
        }
    }

    pub(super) fn log<const N: usize>(&self, level: Level, message: String, fields: [(&str, Value); N]) {
        let fields: Map<String, Value> = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        self.ports.log.write(LogRecord { level, source: "kernel".to_owned(), message, fields });
    }
}

/// Why a filter stays shut, and how to open it.
pub(super) fn shut_cause(reason: &str) -> String {
    format!("it is disabled ({reason}); enable it again or remove it")
}
