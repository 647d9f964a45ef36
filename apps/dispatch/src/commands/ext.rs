//! `dispatch ext`: which extensions there are, how they are doing, and switching them on again.

use crate::app::Status;
use crate::args::ExtCommand;
use crate::disabled_file::DisabledFile;
use crate::failure::Failure;
use crate::ports::{RuntimeSpawner, StderrLog, SystemClock, UlidIds};
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::fault::FaultBudget;
use dispatch_contracts::manifest::Tier;
use dispatch_contracts::ports::Level;
use dispatch_kernel::host::{Boot, Candidate, DisabledStore, ExtensionState, ExtensionStatus, Ports, boot, enable};
use dispatch_kernel::services::builtin::permission_rules;
use dispatch_kernel::services::permission::evaluate;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &ExtCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    match command {
        ExtCommand::List { json } => list(loaded, extensions, (*json).into(), printer),
        ExtCommand::Enable { id } => switch_on(loaded, id, printer),
    }
}

fn list(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let found = status(loaded, extensions)?;
    if format == Format::Json {
        printer.json(&serde_json::json!({ "extensions": found }))?;
        return Ok(Status::Done);
    }
    if found.is_empty() {
        printer.out("no extensions");
        return Ok(Status::Done);
    }
    printer.out(&table(&found.iter().map(row).collect::<Vec<_>>()));
    Ok(Status::Done)
}

fn row(status: &ExtensionStatus) -> Vec<String> {
    let (state, reason) = words(&status.state);
    let tier = status.tier.map_or("?", |tier| match tier {
        Tier::Core => "core",
        Tier::Standard => "standard",
        Tier::External => "external",
    });
    let version = status.version.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
    vec![status.id.to_string(), version, tier.to_owned(), state.to_owned(), reason.to_owned()]
}

/// A state as one word, and its reason.
pub(crate) fn words(state: &ExtensionState) -> (&'static str, &str) {
    match state {
        ExtensionState::Starting => ("starting", ""),
        ExtensionState::Active => ("active", ""),
        ExtensionState::Lazy => ("waiting", ""),
        ExtensionState::Stopped => ("stopped", ""),
        ExtensionState::Disabled { reason } => ("disabled", reason),
        ExtensionState::Skipped { reason } => ("skipped", reason),
        ExtensionState::Failed { reason } => ("failed", reason),
    }
}

/// Starts the extensions, asks how they are, and stops them again.
pub(crate) fn status(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Vec<ExtensionStatus>, Failure> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let host = boot(start(loaded, extensions)).await.map_err(|error| Failure::internal(error.to_string()))?;
        let status = host.status();
        host.shutdown().await;
        Ok(status)
    })
}

/// Everything the host is started with.
pub(crate) fn start(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Boot {
    let rules = permission_rules(&loaded.settings);
    Boot {
        ports: Ports {
            clock: Arc::new(SystemClock::default()),
            ids: Arc::new(UlidIds),
            spawner: Arc::new(RuntimeSpawner),
            log: Arc::new(StderrLog { minimum: Level::Error }),
        },
        extensions: extensions
            .into_iter()
            .filter(|extension| wanted(loaded, extension))
            .map(Candidate::bundled)
            .collect(),
        settings: loaded.settings.clone(),
        folders: loaded.folders(),
        permissions: Arc::new(move |request| evaluate(&rules, request)),
        budget: FaultBudget::default(),
        disabled: store(loaded),
        grants: BTreeMap::new(),
    }
}

/// With `--minimal` only the core counts; what is listed in `extensions.disabled` never does.
fn wanted(loaded: &Loaded, extension: &Arc<dyn Extension>) -> bool {
    let Ok(manifest) = dispatch_kernel::host::manifest::parse(&extension.manifest()) else { return true };
    let off: Vec<String> = loaded.settings.read("extensions.disabled").unwrap_or_default();
    let kept = !loaded.minimal || manifest.tier == Tier::Core;
    kept && !off.iter().any(|id| id == manifest.id.as_str())
}

fn switch_on(loaded: &Loaded, id: &str, printer: &Printer) -> Result<Status, Failure> {
    let store = store(loaded);
    let was_off = runtime()?
        .block_on(enable(store.as_ref(), &id.into()))
        .map_err(|error| Failure::configuration(error.to_string()))?;
    if was_off {
        printer.out(&format!("`{id}` is on again; it starts with the next run"));
        return Ok(Status::Done);
    }
    Err(Failure::usage(format!("`{id}` is not switched off")).hint("`dispatch ext list` shows every extension"))
}

fn store(loaded: &Loaded) -> Arc<dyn DisabledStore> {
    Arc::new(DisabledFile { path: loaded.disabled_file.clone() })
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| Failure::internal(format!("the runtime could not start: {error}")))
}
