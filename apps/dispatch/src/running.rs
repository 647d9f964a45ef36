//! The started extensions that a command works with.

use crate::app::Status;
use crate::disabled_file::DisabledFile;
use crate::extension_choice::{providers_of, with_shared_settings};
use crate::external_extensions::{absent, candidate, grants};
use crate::failure::Failure;
use crate::ports::{RuntimeSpawner, StderrLog, SystemClock, UlidIds};
use crate::settings::Loaded;
use crate::stopping::Interrupts;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::host::{SECRETS, STORAGE};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Manifest, Tier};
use dispatch_contracts::ports::{Level, LogRecord, LogSink as _};
use dispatch_contracts::service::Service;
use dispatch_contracts::settings::Settings;
use dispatch_kernel::host::manifest::parse;
use dispatch_kernel::host::{Boot, Candidate, DisabledStore, ExtensionHost, Ports, boot};
use dispatch_kernel::services::builtin::permission_rules;
use dispatch_kernel::services::permission::evaluate;
use ext_broker::contract::ROUTES;
use ext_compaction::contract::COMPACTIONS;
use ext_conversation_store::contract::CONVERSATIONS;
use ext_event_ledger::contract::EVENT_LEDGER;
use ext_provider_openai_compat::contract::{LocalServer, ProviderChoice, choose_provider, discover, needs_discovery};
use ext_session_orchestrator::contract::SESSIONS;
use ext_storage_sqlite::contract::is_for_a_server;
use ext_workspace_hooks::contract::RUNS;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;

/// The setting by which the session orchestrator takes up work.
const CONDUCT: &str = "extensions.session-orchestrator.conduct";

/// The setting by which the broker routes events.
const ROUTE_EVENTS: &str = "extensions.broker.route_events";

/// The setting by which the event ledger reads accounts, such as mailboxes.
const READ_ACCOUNTS: &str = "extensions.event-ledger.read_accounts";

/// The extension of the channel `mail`, whose accounts are looked at beside the events.
const MAIL_EXTENSION: &str = "channel-mail";

/// Services of the extensions that have tables.
const STORING: [&str; 6] =
    [CONVERSATIONS.id(), SESSIONS.id(), COMPACTIONS.id(), RUNS.id(), EVENT_LEDGER.id(), ROUTES.id()];

/// How many threads the work needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The one that waits: for a command that serves one person.
    One,
    /// Two: for a server.
    Two,
}

/// Extensions that run until this is shut down.
pub(crate) struct Running {
    runtime: tokio::runtime::Runtime,
    host: ExtensionHost,
    /// The settings that everything was started with.
    settings: Settings,
    model: Option<ProviderChoice>,
}

impl Running {
    /// Starts everything that the settings want.
    pub(crate) fn start(
        loaded: &Loaded,
        extensions: Vec<Arc<dyn Extension>>,
        threads: Threads,
    ) -> Result<Self, Failure> {
        Self::start_with(loaded, extensions, threads, loaded.settings.clone(), Level::Warn)
    }

    /// Starts everything, and reads the accounts of channels: what a server does and a command does not.
    pub(crate) fn serve(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        let settings = loaded.settings.with(READ_ACCOUNTS, true);
        Self::start_with(loaded, extensions, Threads::Two, settings, Level::Warn)
    }

    /// The same with other settings than those in force, logging from the level `minimum` on.
    pub(crate) fn start_with(
        loaded: &Loaded,
        extensions: Vec<Arc<dyn Extension>>,
        threads: Threads,
        settings: Settings,
        minimum: Level,
    ) -> Result<Self, Failure> {
        // A tool must not find the key of the model where its own program got it from.
        dispatch_os::process::shield_memory();
        let runtime = runtime(threads)?;
        let model = runtime.block_on(chosen_model(&settings)).choice;
        let settings = with_model(settings, &model);
        check_storage(loaded, &extensions)?;
        let log = StderrLog { minimum };
        for message in absent(loaded) {
            let (source, fields) = ("extensions".to_owned(), serde_json::Map::new());
            log.write(LogRecord { level: Level::Warn, source, message, fields });
        }
        let host = runtime.block_on(booted(boot_input(loaded, extensions, settings.clone(), minimum)))?;
        Ok(Self { runtime, host, settings, model: Some(model) })
    }

    /// Starts what stores conversations and their queue, and nothing that works on them; another process may do that.
    pub(crate) fn look_at_conversations(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        Self::look(loaded, extensions, &[CONVERSATIONS.id(), SESSIONS.id()])
    }

    /// The same with what stores summaries of conversations.
    pub(crate) fn look_at_compactions(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        Self::look(loaded, extensions, &[COMPACTIONS.id()])
    }

    /// Starts what stores the runs of workspace hooks, and nothing that answers their prompts.
    pub(crate) fn look_at_runs(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        Self::look(loaded, extensions, &[RUNS.id()])
    }

    /// Starts what stores events and the runs that they start.
    pub(crate) fn look_at_runs_and_events(
        loaded: &Loaded,
        extensions: Vec<Arc<dyn Extension>>,
    ) -> Result<Self, Failure> {
        Self::look(loaded, extensions, &[RUNS.id(), EVENT_LEDGER.id()])
    }

    /// Starts what keeps data, and nothing that works on it.
    pub(crate) fn look_at_storage(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        Self::look(loaded, extensions, &[STORAGE.id()])
    }

    /// Starts what keeps secrets.
    pub(crate) fn look_at_secrets(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        Self::look_with(loaded, extensions, &[SECRETS.id()], loaded.settings.clone())
    }

    /// Starts what stores events and knows what became of them, and nothing that acts on them.
    pub(crate) fn look_at_events(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        Self::look(loaded, extensions, &[EVENT_LEDGER.id(), ROUTES.id(), CONVERSATIONS.id()])
    }

    /// The same where no database is there and none is to be made: hooks and channels can be looked at all the same.
    pub(crate) fn look_at_no_events(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        let settings = loaded.settings.with("storage.url", "memory:");
        Self::look_with(loaded, extensions, &[EVENT_LEDGER.id(), ROUTES.id(), CONVERSATIONS.id()], settings)
    }

    /// The same with what keeps secrets, for whoever connects to a channel's account.
    pub(crate) fn look_at_channels(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Self, Failure> {
        Self::look(loaded, extensions, &[EVENT_LEDGER.id(), ROUTES.id(), CONVERSATIONS.id(), SECRETS.id()])
    }

    /// Brings the tables of a database up to date, and does nothing with what is in them.
    pub(crate) fn migrate_storage(
        loaded: &Loaded,
        extensions: Vec<Arc<dyn Extension>>,
        url: &str,
    ) -> Result<(), Failure> {
        let settings = loaded.settings.with("storage.url", url);
        Self::look_with(loaded, extensions, &STORING, settings).map(Self::shutdown)
    }

    /// The last migration of each namespace that this program knows: what it does to an empty database in memory.
    pub(crate) fn known_migrations(
        loaded: &Loaded,
        extensions: Vec<Arc<dyn Extension>>,
    ) -> Result<BTreeMap<String, u32>, Failure> {
        let settings = loaded.settings.with("storage.url", "memory:");
        let running = Self::look_with(loaded, extensions, &STORING, settings)?;
        let storage = running.service(&STORAGE)?;
        let known = running.block_on(storage.versions());
        running.shutdown();
        known.map_err(|error| Failure::internal(error.to_string()))
    }

    fn look(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>, services: &[&str]) -> Result<Self, Failure> {
        check_storage(loaded, &extensions)?;
        Self::look_with(loaded, extensions, services, loaded.settings.clone())
    }

    fn look_with(
        loaded: &Loaded,
        extensions: Vec<Arc<dyn Extension>>,
        services: &[&str],
        settings: Settings,
    ) -> Result<Self, Failure> {
        let runtime = runtime(Threads::One)?;
        let needed = providers_of(services, &manifests(&extensions));
        let kept = extensions
            .into_iter()
            .filter(|extension| parse(&extension.manifest()).is_ok_and(|manifest| is_needed(&needed, &manifest)));
        let settings = settings.with(CONDUCT, false).with(ROUTE_EVENTS, false);
        let host = runtime.block_on(booted(boot_input(loaded, kept.collect(), settings.clone(), Level::Warn)))?;
        Ok(Self { runtime, host, settings, model: None })
    }

    /// Which model answers, and why; `None` if no model was chosen.
    pub(crate) const fn model(&self) -> Option<&ProviderChoice> {
        self.model.as_ref()
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn host(&self) -> &ExtensionHost {
        &self.host
    }

    /// Runs the work of a command on the runtime.
    pub(crate) fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(work)
    }

    /// A service that the command cannot do without.
    pub(crate) fn service<T: ?Sized + Send + Sync + 'static>(&self, service: &Service<T>) -> Result<Arc<T>, Failure> {
        self.host.service(service).ok_or_else(|| {
            Failure::configuration(format!("no active extension provides `{}`", service.id()))
                .hint("`dispatch ext list` lists the extensions and why one is not active")
        })
    }

    /// Stops everything, dependents first. Who presses ctrl-C meanwhile does not want to wait for it.
    pub(crate) fn shutdown(self) {
        self.runtime.block_on(async {
            let mut interrupts = Interrupts::listen();
            tokio::select! {
                () = self.host.shutdown() => {}
                () = interrupts.next() => {}
            }
        });
        // A tool that ignores its cancellation must not keep the program from ending.
        self.runtime.shutdown_background();
    }
}

/// Whether a command that looks needs an extension: a channel's adapter comes with the event ledger.
fn is_needed(needed: &BTreeSet<ExtensionId>, manifest: &Manifest) -> bool {
    let is_adapter = manifest.id.as_str() == MAIL_EXTENSION;
    needed.contains(&manifest.id) || (is_adapter && needed.iter().any(|id| id.as_str() == "event-ledger"))
}

async fn booted(input: Boot) -> Result<ExtensionHost, Failure> {
    let booted = boot(input).await;
    booted.map_err(|error| Failure::of(Status::Internal, &error).hint("`dispatch doctor` reports what is wrong"))
}

/// Which model answers, and what was found on the way.
pub(crate) struct ChosenModel {
    pub(crate) choice: ProviderChoice,
    /// The model servers of this machine; not looked for where the settings name one.
    pub(crate) found: Vec<LocalServer>,
}

/// The configured model, else a server on this machine, else the rehearsal.
pub(crate) async fn chosen_model(settings: &Settings) -> ChosenModel {
    let found = if needs_discovery(settings) { discover().await } else { Vec::new() };
    ChosenModel { choice: choose_provider(settings, &found), found }
}

/// The settings with the model that answers.
fn with_model(settings: Settings, choice: &ProviderChoice) -> Settings {
    let ProviderChoice { provider, base_url, model, .. } = choice.clone();
    let chosen = [("model.provider", Some(provider)), ("model.base_url", base_url), ("model.model", model)];
    let set = chosen.into_iter().filter_map(|(name, value)| Some((name, value?)));
    set.fold(
        settings,
        |settings, (name, value)| {
            if settings.get(name).is_some() { settings } else { settings.with(name, value) }
        },
    )
}

/// A runtime of our own.
pub(crate) fn runtime(threads: Threads) -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = match threads {
        Threads::One => tokio::runtime::Builder::new_current_thread(),
        Threads::Two => {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(2);
            builder
        }
    };
    let built = builder.enable_all().build();
    built.map_err(|error| Failure::internal("cannot start the async runtime").caused_by(&error))
}

fn boot_input(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>, settings: Settings, minimum: Level) -> Boot {
    let rules = permission_rules(&settings);
    let settings = shared_settings(settings, &extensions);
    Boot {
        ports: Ports {
            clock: Arc::new(SystemClock::default()),
            ids: Arc::new(UlidIds),
            spawner: Arc::new(RuntimeSpawner),
            log: Arc::new(StderrLog { minimum }),
        },
        extensions: candidates(loaded, extensions),
        grants: grants(&settings),
        settings,
        folders: loaded.folders(),
        permissions: Arc::new(move |request| evaluate(&rules, request)),
        budget: FaultBudget::default(),
        disabled: disabled_store(loaded),
    }
}

/// The extensions that the settings want, each with where it came from.
pub(crate) fn candidates(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Vec<Candidate> {
    let wanted = extensions.into_iter().filter(|extension| wanted(loaded, extension));
    wanted.map(|extension| candidate(loaded, extension)).collect()
}

/// The settings with those that several extensions share, in the section of each.
pub(crate) fn shared_settings(settings: Settings, extensions: &[Arc<dyn Extension>]) -> Settings {
    with_shared_settings(settings, &manifests(extensions))
}

/// A database server that no active extension can talk to must not become storage in memory.
fn check_storage(loaded: &Loaded, extensions: &[Arc<dyn Extension>]) -> Result<(), Failure> {
    let url: Option<String> = loaded.settings.read("storage.url");
    let active: Vec<Arc<dyn Extension>> = extensions.iter().filter(|it| wanted(loaded, it)).cloned().collect();
    let has_backend = manifests(&active).iter().any(|manifest| manifest.id.as_str() == "storage-postgres");
    if has_backend || !url.as_deref().is_some_and(is_for_a_server) {
        return Ok(());
    }
    Err(Failure::configuration("`storage.url` names a PostgreSQL database, and `storage-postgres` is not active")
        .hint("take it out of `extensions.disabled`, or name a file: `sqlite:PATH`"))
}

/// The manifests that can be read; a broken one is reported when it is started.
fn manifests(extensions: &[Arc<dyn Extension>]) -> Vec<Manifest> {
    extensions.iter().filter_map(|extension| parse(&extension.manifest()).ok()).collect()
}

/// With `--minimal` only the core counts; what is listed in `extensions.disabled` never does.
fn wanted(loaded: &Loaded, extension: &Arc<dyn Extension>) -> bool {
    let Ok(manifest) = parse(&extension.manifest()) else { return true };
    let off: Vec<String> = loaded.settings.read("extensions.disabled").unwrap_or_default();
    let kept = !loaded.minimal || manifest.tier == Tier::Core;
    kept && !off.iter().any(|id| id == manifest.id.as_str())
}

/// Where it is remembered which extensions were switched off.
pub(crate) fn disabled_store(loaded: &Loaded) -> Arc<dyn DisabledStore> {
    Arc::new(DisabledFile { path: loaded.disabled_file.clone() })
}
