//! Starting and stopping one extension.

use super::HostState;
use super::backend::Backend;
use super::roster::Member;
use super::status::ExtensionState;
use crate::bus::isolate::{HandlerFailure, TimeLimit, isolate};
use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::host::Host;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::Tier;
use dispatch_contracts::ports::Level;
use std::sync::Arc;

/// How long an extension may take to start.
pub const ACTIVATION_TIMEOUT_MS: u64 = 10_000;

/// How long an extension may take to stop.
pub const DEACTIVATION_TIMEOUT_MS: u64 = 5_000;

impl HostState {
    /// Starts an extension after what it needs. A failure is its own: it is written down, everything
    /// it had registered is taken back, and the reason is answered.
    pub(super) async fn activate(self: &Arc<Self>, id: &ExtensionId) -> Result<(), String> {
        let Some(member) = self.roster.member(id) else { return Err("is not known".to_owned()) };
        if let Err(reason) = self.wake_dependencies(id).await {
            self.skip(id, reason.clone());
            return Err(reason);
        }
        match self.activate_member(&member).await {
            Ok(()) => {
                let active = self.roster.activated(id);
                if active.is_err() {
                    self.deactivate(id).await;
                    self.dispose(id);
                }
                active
            }
            Err(failure) => Err(self.fail(id, member.manifest.tier, failure)),
        }
    }

    pub(super) async fn activate_member(self: &Arc<Self>, member: &Member) -> Result<(), HandlerFailure> {
        let host = Host::new(Arc::new(Backend::new(self, member)));
        let limit = TimeLimit::Ms(ACTIVATION_TIMEOUT_MS);
        isolate(self.ports.clock.as_ref(), limit, || member.extension.activate(host)).await
    }

    /// Takes back everything an extension has registered and ends its background work.
    pub(super) fn dispose(&self, id: &ExtensionId) {
        if let Some(member) = self.roster.member(id) {
            member.scope.end();
        }
        self.bus.remove_extension(id);
        self.registry.remove_extension(id);
    }

    /// Lets an extension release what the host cannot.
    pub(super) async fn deactivate(&self, id: &ExtensionId) {
        let Some(member) = self.roster.member(id) else { return };
        if let Err(failure) = self.deactivate_member(&member).await {
            self.bus.report(id, "deactivation", failure.kind, &failure.message);
        }
    }

    pub(super) async fn deactivate_member(&self, member: &Member) -> Result<(), HandlerFailure> {
        let limit = TimeLimit::Ms(DEACTIVATION_TIMEOUT_MS);
        isolate(self.ports.clock.as_ref(), limit, || member.extension.deactivate()).await
    }

    pub(super) async fn shutdown(&self) {
        for id in self.roster.order().iter().rev() {
            let Some(state) = self.roster.state(id).filter(ExtensionState::is_running) else { continue };
            self.roster.set_state(id, ExtensionState::Stopped);
            if state == ExtensionState::Active {
                self.deactivate(id).await;
            }
            self.dispose(id);
        }
        self.save_disabled().await;
    }

    pub(super) fn skip(&self, id: &ExtensionId, reason: String) {
        self.log(Level::Warn, format!("extension `{id}` is skipped: it {reason}"), []);
        self.roster.set_state(id, ExtensionState::Skipped { reason });
        self.dispose(id);
    }

    /// Why an extension cannot start because of another, as far as is known now.
    pub(super) fn obstacle(&self, id: &ExtensionId) -> Option<String> {
        let manifest = self.roster.member(id)?.manifest;
        manifest.depends_on.iter().filter(|dependency| !dependency.optional).find_map(|dependency| {
            let obstacle = self.roster.state(&dependency.id)?.obstacle()?;
            Some(format!("needs `{}`, {obstacle}", dependency.id))
        })
    }

    async fn wake_dependencies(&self, id: &ExtensionId) -> Result<(), String> {
        let Some(member) = self.roster.member(id) else { return Ok(()) };
        for dependency in &member.manifest.depends_on {
            if let Some(activation) = self.bus.wake(&dependency.id) {
                // Its own failure is read from its state below, in words that name it.
                let _ = activation.await;
            }
        }
        self.obstacle(id).map_or(Ok(()), Err)
    }

    fn fail(&self, id: &ExtensionId, tier: Tier, failure: HandlerFailure) -> String {
        let reason = failure.message;
        self.roster.set_state(id, ExtensionState::Failed { reason: reason.clone() });
        self.dispose(id);
        self.bus.report(id, "activation", FaultKind::Activation, &reason);
        if tier == Tier::Core {
            self.set_fatal(&format!("core extension `{id}` did not start: {reason}"));
        }
        reason
    }
}
