//! The host as an extension sees it: typed calls over an untyped backend.

use crate::BoxFuture;
use crate::auth::Auth;
use crate::contribution::{Command, Job, RawRoute, Route};
use crate::dynamic_host::DynamicHost;
use crate::extension::ExtensionError;
use crate::fault::FaultKind;
use crate::folders::Folders;
use crate::hook::{
    AnyHandler, Chain, ChainFailed, ErasedInvariant, ErasedValue, Event, EventHandler, Filter, FilterHandler,
    HandlerError, Payload,
};
use crate::ids::ExtensionId;
use crate::manifest::Capability;
use crate::migration::Migration;
use crate::permission::{PermissionDecision, PermissionRequest};
use crate::ports::{Clock, Ids, Level};
use crate::provider::Provider;
use crate::secret::Secrets;
use crate::service::{JsonService, ProvidedService, Service};
use crate::settings::Settings;
use crate::storage::{Storage, StorageBackend};
use crate::tool::Tool;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

/// Why the host refused a call. The text names the extension and what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The manifest does not ask for the capability.
    #[error("extension `{extension}` may not {action}: its manifest does not list the capability `{}`", capability.name())]
    Capability {
        /// Who called.
        extension: ExtensionId,
        /// What it tried.
        action: &'static str,
        /// What it lacks.
        capability: Capability,
    },
    /// The manifest asks for the capability, but the user has not granted it.
    #[error("extension `{extension}` may not {action}: the settings do not grant it the capability `{}`", capability.name())]
    NotGranted {
        /// Who called.
        extension: ExtensionId,
        /// What it tried.
        action: &'static str,
        /// What it was not granted.
        capability: Capability,
    },
    /// The manifest does not declare the contribution.
    #[error("extension `{extension}` may not add {kind} `{name}`: its manifest does not list it under `contributes`")]
    Undeclared {
        /// Who called.
        extension: ExtensionId,
        /// What kind of thing.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The name is taken.
    #[error("{kind} `{name}` is already provided by extension `{by}`")]
    Taken {
        /// What kind of thing.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Who has it.
        by: ExtensionId,
    },
    /// The hook or service belongs to an extension that is not a declared dependency.
    #[error("extension `{extension}` uses `{id}` but its manifest does not list `{owner}` under `dependsOn`")]
    NoDependency {
        /// Who called.
        extension: ExtensionId,
        /// The hook or service.
        id: String,
        /// Whose it is.
        owner: String,
    },
    /// Only the owner of a hook emits or applies it.
    #[error("extension `{extension}` may not run `{id}`: only its owner `{owner}` may")]
    NotOwner {
        /// Who called.
        extension: ExtensionId,
        /// The hook.
        id: String,
        /// Whose it is.
        owner: String,
    },
    /// The service gives access to everybody's data; extensions outside the core reach their own part only.
    #[error("extension `{extension}` may not use `{id}` directly: ask the host for its own part instead")]
    Reserved {
        /// Who called.
        extension: ExtensionId,
        /// The service.
        id: String,
    },
    /// No active extension provides the service.
    #[error("no active extension provides the service `{id}`")]
    NoService {
        /// The service.
        id: String,
    },
    /// The service is there, but its owner offers it to Rust alone.
    #[error("the service `{id}` cannot be called from here: its owner declares no JSON face for it")]
    NoJsonFace {
        /// The service.
        id: String,
    },
    /// The extension was disabled or disposed.
    #[error("extension `{extension}` is not active any more")]
    Inactive {
        /// Who called.
        extension: ExtensionId,
    },
}

/// Undoes one registration. Dropping it does nothing; disposal of the extension undoes all.
#[derive(Clone)]
pub struct Registration {
    undo: Arc<dyn Fn() + Send + Sync>,
}

impl Registration {
    /// A registration that is undone by the given function.
    pub fn new(undo: impl Fn() + Send + Sync + 'static) -> Self {
        Self { undo: Arc::new(undo) }
    }

    /// Takes the registration back. A second call does nothing.
    pub fn dispose(&self) {
        (self.undo)();
    }
}

/// A contribution of any kind.
pub enum Contribution {
    /// A tool.
    Tool(Arc<dyn Tool>),
    /// A provider, by name.
    Provider(String, Arc<dyn Provider>),
    /// A credential source, by name.
    Auth(String, Arc<dyn Auth>),
    /// An HTTP route.
    Route(Route),
    /// An HTTP route that reads headers and bytes itself.
    RawRoute(RawRoute),
    /// The names of routes that a transport answers itself, so that nobody else adds them; for the core alone.
    ServedRoutes(Vec<String>),
    /// A command.
    Command(Command),
    /// A recurring job.
    Job(Job),
    /// The extension's migrations, in order.
    Migrations(Vec<Migration>),
    /// A service, by id.
    Service(Cow<'static, str>, ProvidedService),
}

/// What the kernel's extension host implements for one extension.
pub trait HostBackend: Send + Sync {
    /// Whose backend this is.
    fn extension(&self) -> &ExtensionId;
    /// Adds a contribution.
    fn contribute(&self, contribution: Contribution) -> Result<Registration, HostError>;
    /// Subscribes to an event.
    fn on(&self, id: &str, handler: EventHandler) -> Result<Registration, HostError>;
    /// Subscribes to every event.
    fn on_any(&self, handler: AnyHandler) -> Result<Registration, HostError>;
    /// Joins a filter chain; a higher priority runs earlier.
    fn filter(&self, id: &str, priority: i32, handler: FilterHandler) -> Result<Registration, HostError>;
    /// Emits an event that the extension owns.
    fn emit(&self, id: &str, payload: ErasedValue) -> Result<(), HostError>;
    /// Runs a filter chain that the extension owns; a handler that breaks the invariant fails.
    fn apply(
        &self,
        chain: Chain,
        invariant: ErasedInvariant,
        value: ErasedValue,
    ) -> BoxFuture<'_, Result<Result<ErasedValue, ChainFailed>, HostError>>;
    /// Finds a service.
    fn service(&self, id: &str) -> Result<ProvidedService, HostError>;
    /// The extension's own store.
    fn storage(&self) -> Result<Arc<dyn Storage>, HostError>;
    /// The extension's own secrets.
    fn secrets(&self) -> Result<Arc<dyn Secrets>, HostError>;
    /// The extension's own section of the settings.
    fn settings(&self) -> Settings;
    /// All settings; for the core alone.
    fn all_settings(&self) -> Result<Settings, HostError>;
    /// The folders of this run.
    fn folders(&self) -> Folders;
    /// Whether the extension has a capability; `action` is what it wants it for, as in "may not read files".
    fn require(&self, action: &'static str, capability: Capability) -> Result<(), HostError>;
    /// Counts something that the host cannot see as the extension's fault.
    fn report_fault(&self, place: &str, kind: FaultKind, message: &str);
    /// Asks the permission rules.
    fn permission(&self, request: &PermissionRequest) -> PermissionDecision;
    /// Runs work in the background; its failure is the extension's fault.
    fn spawn(
        &self,
        name: &'static str,
        work: BoxFuture<'static, Result<(), HandlerError>>,
    ) -> Result<Registration, HostError>;
    /// Writes a log record in the extension's name.
    fn log(&self, level: Level, message: &str, fields: Map<String, Value>);
    /// Time.
    fn clock(&self) -> Arc<dyn Clock>;
    /// Fresh ids.
    fn ids(&self) -> Arc<dyn Ids>;
}

/// The service through which a storage extension serves everybody's `host.storage()`.
pub const STORAGE: Service<dyn StorageBackend> = Service::new("kernel/storage");

/// The service through which a vault extension serves everybody's `host.secrets()`.
pub const SECRETS: Service<dyn SecretsBackend> = Service::new("kernel/secrets");

/// What a vault extension provides: a vault per namespace.
pub trait SecretsBackend: Send + Sync {
    /// The vault of one namespace.
    fn open(&self, namespace: &str) -> Arc<dyn Secrets>;
}

/// What `activate` receives. Clones speak for the same extension.
#[derive(Clone)]
pub struct Host {
    backend: Arc<dyn HostBackend>,
}

impl Host {
    /// A typed view of a backend.
    pub fn new(backend: Arc<dyn HostBackend>) -> Self {
        Self { backend }
    }

    /// The same host for a loader of code that arrives while the program runs.
    pub fn dynamic(&self) -> DynamicHost {
        DynamicHost::new(Arc::clone(&self.backend))
    }

    /// Whose host this is.
    pub fn extension(&self) -> &ExtensionId {
        self.backend.extension()
    }

    /// Observes an event. The handler's failure never reaches the emitter.
    pub fn on<T, F, R>(&self, event: &Event<T>, handler: F) -> Result<Registration, HostError>
    where
        T: Payload,
        F: Fn(Arc<T>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), HandlerError>> + Send + 'static,
    {
        let erased: EventHandler = Arc::new(move |payload| match payload.typed::<T>() {
            Ok(typed) => Box::pin(handler(typed)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        });
        self.backend.on(event.id(), erased)
    }

    /// Observes every event. For observability only, never for features.
    pub fn on_any(
        &self,
        handler: impl Fn(&str, &ErasedValue) + Send + Sync + 'static,
    ) -> Result<Registration, HostError> {
        self.backend.on_any(Arc::new(handler))
    }

    /// Joins a filter chain. Higher priority first; equal priority in dependency order.
    pub fn filter<T, F, R>(&self, filter: &Filter<T>, priority: i32, handler: F) -> Result<Registration, HostError>
    where
        T: Payload,
        F: Fn(T) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, HandlerError>> + Send + 'static,
    {
        let erased: FilterHandler = Arc::new(move |value| match value.typed::<T>() {
            Ok(before) => {
                let changed = handler(Arc::unwrap_or_clone(before));
                Box::pin(async move { changed.await.map(ErasedValue::new) })
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        });
        self.backend.filter(filter.id(), priority, erased)
    }

    /// Emits an event that this extension owns. Returns at once.
    pub fn emit<T: Payload>(&self, event: &Event<T>, payload: T) -> Result<(), HostError> {
        self.backend.emit(event.id(), ErasedValue::new(payload))
    }

    /// Runs a filter chain that this extension owns.
    pub async fn apply<T: Payload>(&self, filter: &Filter<T>, value: T) -> Result<Result<T, ChainFailed>, HostError> {
        let chain = filter.chain();
        let result = self.backend.apply(chain, filter.erased_invariant(), ErasedValue::new(value)).await?;
        Ok(result.and_then(|changed| {
            changed.typed::<T>().map(Arc::unwrap_or_clone).map_err(|error| ChainFailed {
                hook: chain.id.to_owned(),
                extension: self.extension().to_string(),
                cause: error.to_string(),
            })
        }))
    }

    /// Provides a service. Exactly one extension may.
    pub fn provide<T: ?Sized + Send + Sync + 'static>(
        &self,
        service: &Service<T>,
        implementation: Arc<T>,
    ) -> Result<Registration, HostError> {
        let provided = ProvidedService { typed: Some(Arc::new(implementation)), json: None };
        self.backend.contribute(Contribution::Service(Cow::Borrowed(service.id()), provided))
    }

    /// Provides a service that extensions in other languages may call as well.
    pub fn provide_with_json<T: ?Sized + Send + Sync + 'static>(
        &self,
        service: &Service<T>,
        implementation: Arc<T>,
        json: Arc<dyn JsonService>,
    ) -> Result<Registration, HostError> {
        let provided = ProvidedService { typed: Some(Arc::new(implementation)), json: Some(json) };
        self.backend.contribute(Contribution::Service(Cow::Borrowed(service.id()), provided))
    }

    /// Finds a service.
    pub fn service<T: ?Sized + Send + Sync + 'static>(&self, service: &Service<T>) -> Result<Arc<T>, HostError> {
        let typed = self.backend.service(service.id())?.typed.and_then(|typed| typed.downcast::<Arc<T>>().ok());
        typed.map(Arc::unwrap_or_clone).ok_or_else(|| HostError::NoService { id: service.id().to_owned() })
    }

    /// Adds a tool.
    pub fn define_tool(&self, tool: Arc<dyn Tool>) -> Result<Registration, HostError> {
        self.backend.contribute(Contribution::Tool(tool))
    }

    /// Adds a provider.
    pub fn define_provider(&self, name: &str, provider: Arc<dyn Provider>) -> Result<Registration, HostError> {
        self.backend.contribute(Contribution::Provider(name.to_owned(), provider))
    }

    /// Adds a credential source.
    pub fn define_auth(&self, name: &str, auth: Arc<dyn Auth>) -> Result<Registration, HostError> {
        self.backend.contribute(Contribution::Auth(name.to_owned(), auth))
    }

    /// Adds an HTTP route.
    pub fn define_route(&self, route: Route) -> Result<Registration, HostError> {
        self.backend.contribute(Contribution::Route(route))
    }

    /// Adds an HTTP route that reads headers and bytes itself.
    pub fn define_raw_route(&self, route: RawRoute) -> Result<Registration, HostError> {
        self.backend.contribute(Contribution::RawRoute(route))
    }

    /// Says which routes (`METHOD /path`) this transport answers itself; whoever adds one of them is refused.
    pub fn reserve_routes(&self, names: Vec<String>) -> Result<Registration, HostError> {
        self.backend.contribute(Contribution::ServedRoutes(names))
    }

    /// Adds a command.
    pub fn define_command(&self, command: Command) -> Result<Registration, HostError> {
        self.backend.contribute(Contribution::Command(command))
    }

    /// Adds a recurring job.
    pub fn define_job(&self, job: Job) -> Result<Registration, HostError> {
        self.backend.contribute(Contribution::Job(job))
    }

    /// Declares the extension's migrations and runs those that its tables have not been through.
    pub async fn define_migrations(&self, migrations: Vec<Migration>) -> Result<Registration, ExtensionError> {
        let declared = Contribution::Migrations(migrations.clone());
        let registration = self.backend.contribute(declared).map_err(ExtensionError::new)?;
        let storage = self.storage().map_err(ExtensionError::new)?;
        storage.migrate(migrations).await.map_err(ExtensionError::new)?;
        Ok(registration)
    }

    /// The extension's own store.
    pub fn storage(&self) -> Result<Arc<dyn Storage>, HostError> {
        self.backend.storage()
    }

    /// The extension's own secrets.
    pub fn secrets(&self) -> Result<Arc<dyn Secrets>, HostError> {
        self.backend.secrets()
    }

    /// The extension's own section of the settings.
    pub fn settings(&self) -> Settings {
        self.backend.settings()
    }

    /// All settings; for the core alone.
    pub fn all_settings(&self) -> Result<Settings, HostError> {
        self.backend.all_settings()
    }

    /// The folders of this run.
    pub fn folders(&self) -> Folders {
        self.backend.folders()
    }

    /// Asks the permission rules.
    pub fn permission(&self, request: &PermissionRequest) -> PermissionDecision {
        self.backend.permission(request)
    }

    /// Runs work in the background; its failure is counted as this extension's fault.
    pub fn spawn(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<(), HandlerError>> + Send + 'static,
    ) -> Result<Registration, HostError> {
        self.backend.spawn(name, Box::pin(work))
    }

    /// Writes a log record.
    pub fn log(&self, level: Level, message: &str, fields: Map<String, Value>) {
        self.backend.log(level, message, fields);
    }

    /// Time.
    pub fn clock(&self) -> Arc<dyn Clock> {
        self.backend.clock()
    }

    /// Fresh ids.
    pub fn ids(&self) -> Arc<dyn Ids> {
        self.backend.ids()
    }
}
