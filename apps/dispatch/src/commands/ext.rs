//! `dispatch ext`: lists, describes, makes, tests and installs extensions, switches them on and off, and removes them.

mod check;
mod dev;
mod info;
mod install;
mod list;
mod purge;
mod reload;
mod remove;
mod scratch_folder;
mod template;

pub(super) use install::surface;

use crate::app::Status;
use crate::args::ExtCommand;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{Running, Threads, disabled_store, runtime};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::fault::Disabled;
use dispatch_contracts::manifest::{Manifest, Tier};
use dispatch_contracts::ports::Level;
use dispatch_kernel::host::manifest::parse;
use dispatch_kernel::host::{ExtensionState, ExtensionStatus, disable, enable};
use std::sync::Arc;

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    replaced: &[Manifest],
    command: &ExtCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    match command {
        ExtCommand::List { json } => list::run(loaded, extensions, replaced, (*json).into(), printer),
        ExtCommand::New { name, kind, user } => template::make(loaded, name, *kind, (*user).into(), printer),
        ExtCommand::Test { extension, json } => check::run(loaded, extension, (*json).into(), printer),
        ExtCommand::Install { source, grant } => install::run(loaded, source, (*grant).into(), printer),
        ExtCommand::Info { id, json } => info::run(loaded, extensions, id, (*json).into(), printer),
        ExtCommand::Enable { id } => {
            crate::policy_change::confirm(loaded, &format!("enable the extension `{id}`"), printer)?;
            switch_on(loaded, id, printer)
        }
        ExtCommand::Disable { id } => {
            crate::policy_change::confirm(loaded, &format!("disable the extension `{id}`"), printer)?;
            switch_off(loaded, &extensions, id, printer)
        }
        ExtCommand::Reload { id } => reload::run(loaded, id.as_deref(), printer),
        ExtCommand::Dev { id, off } => dev::run(loaded, id, *off, printer),
        ExtCommand::Remove { id, purge } => {
            let what = if *purge { " and everything it stored" } else { "" };
            crate::policy_change::confirm(loaded, &format!("remove the extension `{id}`{what}"), printer)?;
            remove::run(loaded, extensions, id, *purge, printer)
        }
    }
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

fn switch_off(
    loaded: &Loaded,
    extensions: &[Arc<dyn Extension>],
    id: &str,
    printer: &Printer,
) -> Result<Status, Failure> {
    let manifests: Vec<Manifest> = extensions.iter().filter_map(|it| parse(&it.manifest()).ok()).collect();
    let known = manifests.iter().map(|manifest| manifest.id.as_str());
    let found = loaded.externals.found.iter().map(|found| found.id.as_str());
    if !known.clone().chain(found.clone()).any(|known| known == id) {
        return Err(info::unknown(id, known.chain(found)));
    }
    if manifests.iter().any(|manifest| manifest.id.as_str() == id && manifest.tier == Tier::Core) {
        return Err(Failure::usage(format!("`{id}` is part of the core, which is always on"))
            .hint("`dispatch ext list` shows the tiers"));
    }
    let at_ms = u64::try_from(dispatch_os::time::unix_ms()).unwrap_or_default();
    let reason = "switched off with `dispatch ext disable`".to_owned();
    let entry = Disabled { extension: id.into(), reason, at_ms, filters: Vec::new() };
    let was_on = runtime(Threads::One)?
        .block_on(disable(disabled_store(loaded).as_ref(), entry))
        .map_err(|error| Failure::of(Status::Configuration, &error))?;
    if was_on {
        printer.out(&format!("disabled `{id}`; `dispatch ext enable {id}` brings it back"));
        return Ok(Status::Done);
    }
    Err(Failure::usage(format!("`{id}` is disabled already"))
        .hint(format!("`dispatch ext enable {id}` brings it back")))
}
