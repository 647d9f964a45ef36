//! The whole host as a service, for the core extensions that run turns and serve what others add.

use super::registry::Ticket;
use super::{ExtensionHost, HostState};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::service::{ProvidedService, Service};
use std::sync::{Arc, Weak};

/// The service through which a core extension reaches the tools, providers and routes of all.
pub const HOST: Service<HostHandle> = Service::new("kernel/host");

/// A host that may be gone already; holding it keeps nothing alive.
pub struct HostHandle {
    inner: Weak<HostState>,
}

impl HostHandle {
    /// The host, while it runs.
    pub fn get(&self) -> Option<ExtensionHost> {
        self.inner.upgrade().map(|inner| ExtensionHost { inner })
    }

    /// Waits until all extensions that start with the program were started. Who needs what they add works behind this; an
    /// extension that waits for it before it is active waits in vain.
    pub fn started(&self) -> impl Future<Output = ()> + Send + 'static {
        let started = self.inner.upgrade().map(|inner| inner.started.cancelled());
        async move {
            if let Some(started) = started {
                started.await;
            }
        }
    }
}

/// Puts the handle where extensions find it.
pub(super) fn provide(inner: &Arc<HostState>) {
    let handle = Arc::new(HostHandle { inner: Arc::downgrade(inner) });
    let provided = ProvidedService { typed: Some(Arc::new(handle)), json: None };
    let mut contributions = inner.registry.lock();
    let ticket = Ticket { number: contributions.next_ticket(), leaving: None };
    // The first service of a fresh registry: its name cannot be taken.
    let _ = contributions.services.add(ticket, &ExtensionId::new("kernel"), HOST.id(), provided);
}
