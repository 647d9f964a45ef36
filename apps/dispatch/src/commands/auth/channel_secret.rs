//! Secrets of channels: `dispatch auth add channel:CHANNEL:ACCOUNT` keeps one for the adapter of the channel alone.

use super::read_secret;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::host::SECRETS;
use dispatch_contracts::secret::Secret;
use serde_json::json;
use std::sync::Arc;

const PREFIX: &str = "channel:";
/// Whose vault the secrets of webhooks are in.
const WEBHOOK_OWNER: &str = "event-ledger";

/// Whether a name is that of a channel's account.
pub(super) fn is_meant(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Keeps the secret that standard input or a prompt gives.
pub(super) fn add(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    name: &str,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    checked(name)?;
    let read = read_secret(name)?;
    let secret = Secret::new(read.expose().trim_end_matches(['\n', '\r']));
    if secret.expose().is_empty() {
        return Err(Failure::usage("the secret is empty").hint("write it to standard input"));
    }
    change(loaded, extensions, name, Some(secret))?;
    match format {
        Format::Json => printer.json(&json!({ "added": { "name": name } }))?,
        Format::Text => printer.out(&format!("stored the secret `{name}`; only its channel gets it")),
    }
    Ok(Status::Done)
}

/// Forgets it.
pub(super) fn remove(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    name: &str,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    checked(name)?;
    change(loaded, extensions, name, None)?;
    match format {
        Format::Json => printer.json(&json!({ "removed": [{ "name": name }] }))?,
        Format::Text => printer.out(&format!("removed the secret `{name}`")),
    }
    Ok(Status::Done)
}

fn checked(name: &str) -> Result<(), Failure> {
    let parts = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':'));
    if parts.is_some_and(|(channel, account)| !channel.is_empty() && !account.is_empty()) {
        return Ok(());
    }
    Err(Failure::usage(format!("invalid name of a channel's secret `{name}`"))
        .hint("name channel and account: dispatch auth add channel:webhook:github"))
}

/// The extension that gets the secret: each channel but the webhooks has one of its own.
fn owner(name: &str) -> String {
    let channel = name.strip_prefix(PREFIX).and_then(|rest| rest.split(':').next()).unwrap_or_default();
    if channel == "mail" { format!("channel-{channel}") } else { WEBHOOK_OWNER.to_owned() }
}

fn change(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    name: &str,
    secret: Option<Secret>,
) -> Result<(), Failure> {
    let running = Running::look_at_secrets(loaded, extensions)?;
    let outcome = running.service(&SECRETS).and_then(|vaults| {
        let vault = vaults.open(&owner(name));
        let changed = running.block_on(async {
            match secret {
                Some(secret) => vault.put(name, secret).await,
                None => vault.remove(name).await,
            }
        });
        changed.map_err(|error| Failure::internal(error.to_string()).hint("`dispatch doctor` checks the key file"))
    });
    running.shutdown();
    outcome
}
