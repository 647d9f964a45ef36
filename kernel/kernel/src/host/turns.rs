//! Turns that are running, so that a change of the extensions leaves them what they began with.

use super::registry::Owned;
use super::roster::Member;
use super::{ExtensionHost, HostState};
use crate::bus::Bus;
use crate::bus::RetiredSubscriptions;
use dispatch_contracts::ports::Level;
use dispatch_contracts::tool::Tool;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a turn works with until it ends: the tools and filters of the moment it began.
pub struct RunningTurn {
    bus: Bus,
    tools: Vec<Owned<Arc<dyn Tool>>>,
    _epoch: Arc<TurnEpoch>,
}

impl RunningTurn {
    /// Events as ever, and the filters of then.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// The tools of then, by name.
    pub fn tools(&self) -> &[Owned<Arc<dyn Tool>>] {
        &self.tools
    }
}

impl ExtensionHost {
    /// Begins a turn. What it has is not taken away before the result is dropped.
    pub fn begin_turn(&self) -> RunningTurn {
        // No change is made between these three.
        let epoch = self.inner.turns.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = self.inner.registry.lock().tools.list();
        RunningTurn { bus: self.inner.bus.at_present(), tools, _epoch: Arc::clone(&epoch) }
    }
}

/// The time between two changes of the extensions. Each turn of that time holds it.
pub(super) struct TurnEpoch {
    host: Weak<HostState>,
    ended: Mutex<Option<EndedEpoch>>,
}

/// What a change took out of service, to be released when no turn can use it any more.
pub(super) struct EndedEpoch {
    /// Dependents first.
    pub(super) members: Vec<Member>,
    pub(super) subscriptions: RetiredSubscriptions,
    /// A turn of this time may also use what only later changes retire.
    pub(super) _next: Arc<TurnEpoch>,
}

impl TurnEpoch {
    pub(super) fn new(host: Weak<HostState>) -> Arc<Self> {
        Arc::new(Self { host, ended: Mutex::new(None) })
    }

    pub(super) fn end(&self, ended: EndedEpoch) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(ended);
    }

    fn take(&mut self) -> Option<(Arc<HostState>, EndedEpoch)> {
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((self.host.upgrade()?, ended))
    }

    /// Releases at once what nobody uses; else whoever ends last does.
    pub(super) async fn release(self: Arc<Self>) {
        if let Some((host, ended)) = Arc::into_inner(self).and_then(|mut epoch| epoch.take()) {
            host.release(ended).await;
        }
    }
}

impl Drop for TurnEpoch {
    fn drop(&mut self) {
        if let Some((host, ended)) = self.take() {
            let spawner = Arc::clone(&host.ports.spawner);
            spawner.spawn(Box::pin(async move { host.release(ended).await }));
        }
    }
}

impl HostState {
    async fn release(&self, ended: EndedEpoch) {
        self.bus.close(ended.subscriptions);
        for member in &ended.members {
            if let Err(failure) = self.deactivate_member(member).await {
                // A replaced version has no faults that count; what it failed in is told all the same.
                let message = format!("replaced extension `{}` did not stop: {}", member.manifest.id, failure.message);
                self.log(Level::Warn, message, []);
            }
            member.scope.end();
        }
    }
}
