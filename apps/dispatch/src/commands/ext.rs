//! `dispatch ext`: lists and describes the extensions, and enables those that were disabled after faults.

mod info;

use crate::app::Status;
use crate::args::ExtCommand;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::running::{Running, Threads, disabled_store, runtime};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::manifest::Tier;
use dispatch_contracts::ports::Level;
use dispatch_kernel::host::{ExtensionState, ExtensionStatus, enable};
use std::sync::Arc;

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &ExtCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    match command {
        ExtCommand::List { json } => list(loaded, extensions, (*json).into(), printer),
        ExtCommand::Info { id, json } => info::run(loaded, extensions, id, (*json).into(), printer),
        ExtCommand::Enable { id } => {
            crate::policy_change::confirm(loaded, &format!("enable the extension `{id}`"), printer)?;
            switch_on(loaded, id, printer)
        }
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
    let (state, reason) = state_words(&status.state);
    let tier = status.tier.map_or("?", tier_word);
    let version = status.version.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
    vec![status.id.to_string(), version, tier.to_owned(), state.to_owned(), reason.to_owned()]
}

const fn tier_word(tier: Tier) -> &'static str {
    match tier {
        Tier::Core => "core",
        Tier::Standard => "standard",
        Tier::External => "external",
    }
}

/// A state as one word, and its reason.
pub(crate) fn state_words(state: &ExtensionState) -> (&'static str, &str) {
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

/// Starts the extensions, reads their states and stops them again. Nothing that such a start stores is kept.
pub(crate) fn status(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Result<Vec<ExtensionStatus>, Failure> {
    let settings = loaded.settings.with("storage.url", "memory:");
    let running = Running::start_with(loaded, extensions, Threads::One, settings, Level::Error)?;
    let status = running.host().status();
    running.shutdown();
    Ok(status)
}

fn switch_on(loaded: &Loaded, id: &str, printer: &Printer) -> Result<Status, Failure> {
    let store = disabled_store(loaded);
    let was_off = runtime(Threads::One)?
        .block_on(enable(store.as_ref(), &id.into()))
        .map_err(|error| Failure::of(Status::Configuration, &error))?;
    if was_off {
        printer.out(&format!("enabled `{id}`; it starts with the next command"));
        return Ok(Status::Done);
    }
    Err(Failure::usage(format!("`{id}` is not disabled")).hint("`dispatch ext list` lists the extensions"))
}
