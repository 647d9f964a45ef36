//! The extension host: starts extensions in order, gives each a gated view of the kernel, counts its
//! faults and stops it, without one extension's failure becoming another's.

mod backend;
mod boot;
mod disabled;
mod fault_policy;
mod faults;
mod gate;
pub mod graph;
mod handle;
mod lifecycle;
pub mod manifest;
mod registry;
mod roster;
mod roster_plan;
mod status;
mod turns;
mod update;
mod work;

pub use boot::{Boot, BootError, Candidate, FreshCopy, boot};
pub use disabled::{
    DISABLED_STORE_TIMEOUT_MS, DisabledStore, DisabledStoreError, MemoryDisabledStore, disable, enable,
};
pub use fault_policy::{FaultVerdict, judge_faults};
pub use handle::{HOST, HostHandle};
pub use lifecycle::{ACTIVATION_TIMEOUT_MS, DEACTIVATION_TIMEOUT_MS};
pub use registry::Owned;
pub use roster_plan::{RosterPlan, plan_roster_change};
pub use status::{ExtensionState, ExtensionStatus};
pub use turns::RunningTurn;
pub use update::{ChangeOutcome, ExtensionChange, RosterUpdate};
pub use work::{JOB_TIMEOUT_MS, MIN_JOB_PERIOD_MS};

use crate::bus::Bus;
use disabled::DisabledList;
use dispatch_contracts::auth::Auth;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::contribution::{Command, Job, RawRoute, Route};
use dispatch_contracts::fault::{Fault, FaultBudget};
use dispatch_contracts::folders::Folders;
use dispatch_contracts::harness::Harness;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::Tier;
use dispatch_contracts::migration::Migration;
use dispatch_contracts::permission::{PermissionDecision, PermissionRequest};
use dispatch_contracts::ports::{Clock, Ids, LogSink, Spawner};
use dispatch_contracts::provider::Provider;
use dispatch_contracts::service::Service;
use dispatch_contracts::settings::Settings;
use dispatch_contracts::tool::Tool;
use registry::{Registry, route_answers};
use roster::Roster;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use turns::TurnEpoch;
use update::ChangeState;

/// What the host needs of the world.
#[derive(Clone)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Fresh ids, for extensions.
    pub ids: Arc<dyn Ids>,
    /// Runs handlers, jobs and background work.
    pub spawner: Arc<dyn Spawner>,
    /// Where the kernel and the extensions write their records.
    pub log: Arc<dyn LogSink>,
}

/// Answers an extension's question to the permission rules.
pub type Permissions = Arc<dyn Fn(&PermissionRequest) -> PermissionDecision + Send + Sync>;

/// The running extensions. Clones share one host.
#[derive(Clone)]
pub struct ExtensionHost {
    inner: Arc<HostState>,
}

/// Everything the host knows.
pub(crate) struct HostState {
    ports: Ports,
    bus: Bus,
    registry: Registry,
    roster: Roster,
    settings: Mutex<Settings>,
    folders: Folders,
    permissions: Permissions,
    budget: FaultBudget,
    disabled: DisabledList,
    fatal: Mutex<Option<String>>,
    left_out: Mutex<Vec<ExtensionStatus>>,
    turns: Mutex<Arc<TurnEpoch>>,
    change: ChangeState,
    /// Resolves once the start is over.
    started: CancelToken,
}

impl HostState {
    fn set_fatal(&self, reason: &str) {
        let mut fatal = self.fatal.lock().unwrap_or_else(PoisonError::into_inner);
        fatal.get_or_insert_with(|| reason.to_owned());
    }

    fn settings(&self) -> Settings {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn left_out(&self) -> Vec<ExtensionStatus> {
        self.left_out.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn service<T: ?Sized + Send + Sync + 'static>(&self, service: &Service<T>) -> Option<Arc<T>> {
        let found = self.registry.lock().services.find(service.id())?;
        found.typed?.downcast::<Arc<T>>().ok().map(Arc::unwrap_or_clone)
    }
}

impl ExtensionHost {
    /// The bus the extensions speak on.
    pub fn bus(&self) -> &Bus {
        &self.inner.bus
    }

    /// Why turns must stop: the first fault of a core extension since the start.
    pub fn fatal(&self) -> Option<String> {
        self.inner.fatal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every extension and how it is doing, by id.
    pub fn status(&self) -> Vec<ExtensionStatus> {
        let mut all = self.inner.roster.status();
        for status in &mut all {
            status.dropped_events = self.inner.bus.dropped_events(&status.id);
        }
        all.extend(self.inner.left_out());
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all
    }

    /// Tells the id, the tier and the state of every extension, for whoever asks often.
    pub fn each_state(&self, mut tell: impl FnMut(&ExtensionId, Option<Tier>, &ExtensionState)) {
        self.inner.roster.each_state(&mut tell);
        self.inner.left_out().iter().for_each(|status| tell(&status.id, status.tier, &status.state));
    }

    /// How many faults each extension has had since it started, and the latest.
    pub fn faults(&self) -> BTreeMap<ExtensionId, (u64, Fault)> {
        self.inner.roster.faults()
    }

    /// Forgets that an extension was disabled; it starts at the next boot. Answers whether it was.
    pub async fn enable(&self, extension: &ExtensionId) -> Result<bool, DisabledStoreError> {
        let Some(disabled) = self.inner.disabled.find(extension) else { return Ok(false) };
        self.inner.disabled.remove(extension);
        if let Err(error) = self.inner.disabled.save_changes().await {
            self.inner.disabled.add(disabled);
            return Err(error);
        }
        self.inner.roster.enabled(extension);
        Ok(true)
    }

    /// Stops every extension, dependents first.
    pub async fn shutdown(&self) {
        self.inner.shutdown().await;
    }

    /// The tools, by name.
    pub fn tools(&self) -> Vec<Owned<Arc<dyn Tool>>> {
        self.inner.registry.lock().tools.list()
    }

    /// The model providers, by name.
    pub fn providers(&self) -> Vec<Owned<Arc<dyn Provider>>> {
        self.inner.registry.lock().providers.list()
    }

    /// The credential sources, by name.
    pub fn auth(&self) -> Vec<Owned<Arc<dyn Auth>>> {
        self.inner.registry.lock().auth.list()
    }

    /// The HTTP routes, by `METHOD /path`. A panic in one becomes its error and a fault.
    pub fn routes(&self) -> Vec<Owned<Route>> {
        self.inner.registry.lock().routes.list()
    }

    /// The routes that read headers and bytes themselves, by `METHOD /path`. A panic in one becomes its error and a fault.
    pub fn raw_routes(&self) -> Vec<Owned<RawRoute>> {
        self.inner.registry.lock().raw_routes.list()
    }

    /// The first route that answers a request, in the order of [`Self::routes`].
    pub fn route_for(&self, method: &str, path: &str) -> Option<Owned<Route>> {
        self.inner.registry.lock().routes.first(|name| route_answers(name, method, path))
    }

    /// The first of [`Self::raw_routes`] that answers a request.
    pub fn raw_route_for(&self, method: &str, path: &str) -> Option<Owned<RawRoute>> {
        self.inner.registry.lock().raw_routes.first(|name| route_answers(name, method, path))
    }

    /// The commands, by name. A panic in one becomes its error and a fault.
    pub fn commands(&self) -> Vec<Owned<Command>> {
        self.inner.registry.lock().commands.list()
    }

    /// The recurring jobs, by name; the host runs them.
    pub fn jobs(&self) -> Vec<Owned<Job>> {
        self.inner.registry.lock().jobs.list()
    }

    /// The migrations of each extension that has some.
    pub fn migrations(&self) -> Vec<Owned<Vec<Migration>>> {
        self.inner.registry.lock().migrations.list()
    }

    /// The services of extensions, by id; [`ExtensionHost::service`] gives the thing itself.
    pub fn services(&self) -> Vec<Owned<()>> {
        let found = self.inner.registry.lock().services.list();
        let of_extensions = found.into_iter().filter(|it| it.name != HOST.id());
        of_extensions.map(|it| Owned { owner: it.owner, name: it.name, item: () }).collect()
    }

    /// A service, for the program around the extensions.
    pub fn service<T: ?Sized + Send + Sync + 'static>(&self, service: &Service<T>) -> Option<Arc<T>> {
        self.inner.service(service)
    }

    /// The hooks that running extensions declare, by id.
    pub fn hooks(&self) -> Vec<Owned<()>> {
        self.inner.roster.hooks()
    }

    /// The texts that an extension carries; `None` if it is not part of the plan.
    pub fn harness(&self, extension: &ExtensionId) -> Option<Harness> {
        self.inner.roster.harness(extension)
    }

    /// The settings schemas of all extensions that could be read, by extension.
    pub fn settings_schemas(&self) -> Vec<Owned<Value>> {
        self.inner.roster.settings_schemas()
    }
}
