//! The host as one extension has it: every call passes the gate first.

use super::gate::{CapabilityGate, ContributionKind};
use super::registry::{Contributions, RefusedItem, Ticket};
use super::roster::{ExtensionScope, Member};
use super::work::ExtensionWorker;
use super::{HostState, Permissions, Ports};
use crate::bus::{Subscriber, WaitLog};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::{Command, Job, RawRoute, Route};
use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::hook::{
    AnyHandler, Chain, ChainFailed, ErasedInvariant, ErasedValue, EventHandler, FilterHandler, HandlerError,
};
use dispatch_contracts::host::{Contribution, HostBackend, HostError, Registration, SECRETS, STORAGE};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::Capability;
use dispatch_contracts::permission::{PermissionDecision, PermissionRequest, Verdict};
use dispatch_contracts::ports::{Clock, Ids, Level, LogRecord};
use dispatch_contracts::secret::Secrets;
use dispatch_contracts::service::ProvidedService;
use dispatch_contracts::settings::Settings;
use dispatch_contracts::storage::Storage;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

/// One extension's view. Weak towards the host, because handlers that the host keeps hold it.
pub(super) struct Backend {
    subscriber: Subscriber,
    gate: CapabilityGate,
    scope: Arc<ExtensionScope>,
    settings: Settings,
    folders: Folders,
    permissions: Permissions,
    ports: Ports,
    inner: Weak<HostState>,
}

impl Backend {
    pub(super) fn new(inner: &Arc<HostState>, member: &Member) -> Self {
        let id = member.manifest.id.clone();
        Self {
            gate: member.gate.clone(),
            scope: Arc::clone(&member.scope),
            settings: inner.settings().section(&format!("extensions.{id}")),
            folders: inner.folders.clone(),
            permissions: Arc::clone(&inner.permissions),
            ports: inner.ports.clone(),
            inner: Arc::downgrade(inner),
            subscriber: Subscriber { extension: id, rank: member.rank, generation: member.generation },
        }
    }

    fn id(&self) -> &ExtensionId {
        &self.subscriber.extension
    }

    fn inactive(&self) -> HostError {
        HostError::Inactive { extension: self.id().clone() }
    }

    fn live(&self) -> Result<Arc<HostState>, HostError> {
        let inner = self.inner.upgrade().filter(|_| !self.scope.is_over());
        inner.ok_or_else(|| self.inactive())
    }

    /// The host, for one who adds something: a replaced extension adds nothing any more.
    fn registering(&self) -> Result<Arc<HostState>, HostError> {
        let inner = self.live()?;
        if self.scope.is_retired() { Err(self.inactive()) } else { Ok(inner) }
    }

    /// Whether the extension is about to start beside one that it replaces.
    fn is_staged(&self, inner: &HostState) -> bool {
        self.subscriber.generation > inner.bus.generation()
    }

    /// Takes a registration back that was made while the extension was being disposed.
    fn keep(&self, registration: Registration) -> Result<Registration, HostError> {
        if self.scope.is_over() {
            registration.dispose();
            return Err(self.inactive());
        }
        Ok(registration)
    }

    fn worker(&self, inner: &HostState, place: String) -> ExtensionWorker {
        ExtensionWorker::new(inner, self.id(), &self.scope, place)
    }

    fn add<T>(
        &self,
        inner: &Arc<HostState>,
        add: impl FnOnce(&mut Contributions, Ticket, &ExtensionId) -> Result<(), Box<RefusedItem<T>>>,
    ) -> Result<Registration, HostError> {
        let leaving = self.leaving(inner);
        let (number, outcome) = {
            let mut contributions = inner.registry.lock();
            let number = contributions.next_ticket();
            (number, add(&mut contributions, Ticket { number, leaving }, self.id()))
        };
        outcome.map_err(|refused| refused.error)?;
        let host = Arc::downgrade(inner);
        self.keep(Registration::new(move || {
            if let Some(inner) = host.upgrade() {
                inner.registry.remove_ticket(number);
            }
        }))
    }

    /// Whose names may be taken, while this extension is about to start.
    fn leaving(&self, inner: &HostState) -> Option<Arc<BTreeSet<ExtensionId>>> {
        self.is_staged(inner).then(|| inner.change.leaving())
    }

    fn add_route(&self, inner: &Arc<HostState>, route: Route) -> Result<Registration, HostError> {
        let name = route.name();
        self.gate.declares(ContributionKind::Route, &name)?;
        let respond = self.worker(inner, format!("route {name}")).contain(route.respond);
        self.add(inner, |contributions, ticket, owner| {
            contributions.add_route(ticket, owner, &name, Route { respond, ..route })
        })
    }

    fn add_raw_route(&self, inner: &Arc<HostState>, route: RawRoute) -> Result<Registration, HostError> {
        let name = route.name();
        self.gate.declares(ContributionKind::Route, &name)?;
        let respond = self.worker(inner, format!("route {name}")).contain(route.respond);
        self.add(inner, |contributions, ticket, owner| {
            contributions.add_raw_route(ticket, owner, &name, RawRoute { respond, ..route })
        })
    }

    fn reserve_routes(&self, inner: &Arc<HostState>, names: Vec<String>) -> Result<Registration, HostError> {
        self.gate.serves_routes()?;
        self.add(inner, |contributions, ticket, owner| {
            names.iter().try_for_each(|name| contributions.served_routes.add(ticket.clone(), owner, name, ()))
        })
    }

    fn add_command(&self, inner: &Arc<HostState>, command: Command) -> Result<Registration, HostError> {
        self.gate.declares(ContributionKind::Command, &command.name)?;
        let respond = self.worker(inner, format!("command {}", command.name)).contain(command.respond);
        let (name, command) = (command.name.clone(), Command { respond, ..command });
        self.add(inner, |contributions, ticket, owner| contributions.commands.add(ticket, owner, &name, command))
    }

    fn add_job(&self, inner: &Arc<HostState>, job: Job) -> Result<Registration, HostError> {
        self.gate.capability("run jobs", Capability::Spawn)?;
        self.gate.declares(ContributionKind::Job, &job.name)?;
        let kept = job.clone();
        let listed =
            self.add(inner, |contributions, ticket, owner| contributions.jobs.add(ticket, owner, &job.name, kept))?;
        let running = self.worker(inner, format!("job {}", job.name)).repeat(inner, job);
        Ok(Registration::new(move || {
            running.dispose();
            listed.dispose();
        }))
    }
}

impl HostBackend for Backend {
    fn extension(&self) -> &ExtensionId {
        self.id()
    }

    fn contribute(&self, contribution: Contribution) -> Result<Registration, HostError> {
        let inner = &self.registering()?;
        match contribution {
            Contribution::Tool(tool) => {
                let name = tool.spec().name.clone();
                self.gate.declares(ContributionKind::Tool, &name)?;
                self.add(inner, |contributions, ticket, owner| contributions.tools.add(ticket, owner, &name, tool))
            }
            Contribution::Provider(name, provider) => {
                self.gate.declares(ContributionKind::Provider, &name)?;
                self.add(inner, |contributions, ticket, owner| {
                    contributions.providers.add(ticket, owner, &name, provider)
                })
            }
            Contribution::Auth(name, auth) => {
                self.gate.declares(ContributionKind::Auth, &name)?;
                self.add(inner, |contributions, ticket, owner| contributions.auth.add(ticket, owner, &name, auth))
            }
            Contribution::Route(route) => self.add_route(inner, route),
            Contribution::RawRoute(route) => self.add_raw_route(inner, route),
            Contribution::ServedRoutes(names) => self.reserve_routes(inner, names),
            Contribution::Command(command) => self.add_command(inner, command),
            Contribution::Job(job) => self.add_job(inner, job),
            Contribution::Migrations(steps) => {
                self.gate.capability("change tables", Capability::Db)?;
                let name = self.id().to_string();
                self.add(inner, |contributions, ticket, owner| {
                    contributions.migrations.add(ticket, owner, &name, steps)
                })
            }
            Contribution::Service(id, service) => {
                self.gate.declares(ContributionKind::Service, &id)?;
                self.add(inner, |contributions, ticket, owner| contributions.services.add(ticket, owner, &id, service))
            }
        }
    }

    fn on(&self, id: &str, handler: EventHandler) -> Result<Registration, HostError> {
        let inner = self.registering()?;
        self.gate.hears(id)?;
        self.keep(inner.bus.on(&self.subscriber, id, handler))
    }

    fn on_any(&self, handler: AnyHandler) -> Result<Registration, HostError> {
        let inner = self.registering()?;
        self.gate.capability("watch every event", Capability::Observe)?;
        self.keep(inner.bus.on_any(&self.subscriber, handler))
    }

    fn filter(&self, id: &str, priority: i32, handler: FilterHandler) -> Result<Registration, HostError> {
        let inner = self.registering()?;
        self.gate.hears(id)?;
        self.keep(inner.bus.filter(&self.subscriber, id, priority, handler))
    }

    fn emit(&self, id: &str, payload: ErasedValue) -> Result<(), HostError> {
        let inner = self.live()?;
        self.gate.owns(id)?;
        inner.bus.emit_erased(id, payload);
        Ok(())
    }

    fn apply(
        &self,
        chain: Chain,
        invariant: ErasedInvariant,
        value: ErasedValue,
    ) -> BoxFuture<'_, Result<Result<ErasedValue, ChainFailed>, HostError>> {
        Box::pin(async move {
            let bus = self.live()?.bus.clone();
            self.gate.owns(chain.id)?;
            Ok(bus.apply_for(Some(self.id()), chain, &invariant, value, &WaitLog::new()).await)
        })
    }

    fn service(&self, id: &str) -> Result<ProvidedService, HostError> {
        let inner = self.live()?;
        self.gate.calls(id)?;
        let is_staged = self.is_staged(&inner);
        let services = inner.registry.lock();
        let found = if is_staged { services.services.find_staged(id) } else { services.services.find(id) };
        found.ok_or_else(|| HostError::NoService { id: id.to_owned() })
    }

    fn storage(&self) -> Result<Arc<dyn Storage>, HostError> {
        let inner = self.live()?;
        self.gate.capability("keep data", Capability::Db)?;
        let backend = inner.service(&STORAGE).ok_or_else(|| HostError::NoService { id: STORAGE.id().to_owned() })?;
        Ok(backend.open(self.id().as_str()))
    }

    fn secrets(&self) -> Result<Arc<dyn Secrets>, HostError> {
        let inner = self.live()?;
        self.gate.capability("use secrets", Capability::Secrets)?;
        let backend = inner.service(&SECRETS).ok_or_else(|| HostError::NoService { id: SECRETS.id().to_owned() })?;
        Ok(backend.open(self.id().as_str()))
    }

    fn settings(&self) -> Settings {
        self.settings.clone()
    }

    fn all_settings(&self) -> Result<Settings, HostError> {
        self.gate.sees_all_settings()?;
        Ok(self.live()?.settings())
    }

    fn folders(&self) -> Folders {
        self.folders.clone()
    }

    fn require(&self, action: &'static str, capability: Capability) -> Result<(), HostError> {
        self.live()?;
        self.gate.capability(action, capability)
    }

    fn report_fault(&self, place: &str, kind: FaultKind, message: &str) {
        // What a replaced version does wrong in an old turn is not counted against the new one.
        if let Ok(inner) = self.registering() {
            inner.bus.report(self.id(), place, kind, message);
        }
    }

    fn permission(&self, request: &PermissionRequest) -> PermissionDecision {
        match self.live() {
            Ok(_) => (self.permissions)(request),
            Err(error) => PermissionDecision { verdict: Verdict::Deny, rule: None, reason: error.to_string() },
        }
    }

    fn spawn(
        &self,
        name: &'static str,
        work: BoxFuture<'static, Result<(), HandlerError>>,
    ) -> Result<Registration, HostError> {
        let inner = self.live()?;
        self.gate.capability("run work in the background", Capability::Spawn)?;
        Ok(self.worker(&inner, format!("task {name}")).spawn(&inner, work))
    }

    fn log(&self, level: Level, message: &str, fields: Map<String, Value>) {
        let (source, message) = (self.id().to_string(), message.to_owned());
        self.ports.log.write(LogRecord { level, source, message, fields });
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.ports.clock)
    }

    fn ids(&self) -> Arc<dyn Ids> {
        Arc::clone(&self.ports.ids)
    }
}
