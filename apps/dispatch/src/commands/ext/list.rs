//! `dispatch ext list`: every extension, also those that do not run, with the reason.

use super::{state_words, status, tier_word};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::manifest::Manifest;
use dispatch_kernel::host::ExtensionStatus;
use dispatch_script_extension::{FoundExtension, FoundState};
use serde::Serialize;
use std::sync::Arc;

/// One line of the list; scripts rely on the names.
#[derive(Serialize)]
struct ExtensionLine {
    id: String,
    version: Option<String>,
    tier: Option<&'static str>,
    /// `bundled`, or the folder.
    source: String,
    state: &'static str,
    reason: Option<String>,
    faults: u64,
}

pub(super) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    replaced: &[Manifest],
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let mut lines: Vec<ExtensionLine> = status(loaded, extensions)?.iter().map(started).collect();
    lines.extend(loaded.externals.found.iter().filter_map(absent));
    lines.extend(replaced.iter().map(|manifest| overridden(loaded, manifest)));
    if format == Format::Json {
        printer.json(&lines)?;
        return Ok(Status::Done);
    }
    if lines.is_empty() {
        printer.out("no extensions");
        return Ok(Status::Done);
    }
    printer.out(&table(&lines.iter().map(row).collect::<Vec<_>>()));
    Ok(Status::Done)
}

fn row(line: &ExtensionLine) -> Vec<String> {
    let version = line.version.clone().unwrap_or_else(|| "?".to_owned());
    let reason = line.reason.clone().unwrap_or_default();
    vec![line.id.clone(), version, line.tier.unwrap_or("?").to_owned(), line.state.to_owned(), reason]
}

fn started(status: &ExtensionStatus) -> ExtensionLine {
    let (state, reason) = state_words(&status.state);
    ExtensionLine {
        id: status.id.to_string(),
        version: status.version.as_ref().map(ToString::to_string),
        tier: status.tier.map(tier_word),
        source: status.origin.clone(),
        state,
        reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
        faults: status.faults,
    }
}

/// An extension that was found and is not even started.
fn absent(found: &FoundExtension) -> Option<ExtensionLine> {
    Some(ExtensionLine {
        id: found.id.clone(),
        version: found.manifest.as_ref().map(|manifest| manifest.version.to_string()),
        tier: Some("external"),
        source: found.path.display().to_string(),
        state: absent_word(&found.state)?,
        reason: found.reason(),
        faults: 0,
    })
}

/// The state of an extension that does not run, as one word.
pub(super) const fn absent_word(state: &FoundState) -> Option<&'static str> {
    match state {
        FoundState::Approved(_) => None,
        FoundState::NotApproved | FoundState::Changed => Some("unapproved"),
        FoundState::Shadowed(_) => Some("shadowed"),
        FoundState::Broken(_) => Some("failed"),
    }
}

/// A bundled extension in whose place another one runs.
fn overridden(loaded: &Loaded, manifest: &Manifest) -> ExtensionLine {
    let by = loaded.externals.running(&manifest.id).map(|found| found.path.display().to_string());
    ExtensionLine {
        id: manifest.id.to_string(),
        version: Some(manifest.version.to_string()),
        tier: Some(tier_word(manifest.tier)),
        source: "bundled".to_owned(),
        state: "shadowed",
        reason: by.map(|by| format!("the one in {by} is used")),
        faults: 0,
    }
}
