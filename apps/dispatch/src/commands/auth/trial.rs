//! `dispatch auth test`: a real call to the server, with the key that is for it.

use super::{configured, no_server};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use dispatch_contracts::ports::Level;
use dispatch_contracts::provider::{ModelInfo, ProviderError};
use dispatch_contracts::settings::{Origin, Setting, Settings};
use ext_auth_apikey::contract::Audience;
use ext_provider_openai_compat::contract::OPENAI_COMPAT;
use serde_json::json;

/// How many models are named.
const SHOWN_MODELS: usize = 10;

pub(super) fn run(loaded: &Loaded, server: Option<&str>, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let configured = configured(loaded)?;
    let audience = match server {
        Some(server) => Audience::parse(server)?,
        None => configured.clone().ok_or_else(no_server)?,
    };
    let settings = settings_for(&loaded.settings, server, &audience, configured.as_ref());
    let outcome = ask(loaded, settings)?;
    report(&audience, outcome, format, printer)
}

/// The settings with another server; an address without a path gets the usual one.
fn settings_for(
    settings: &Settings,
    server: Option<&str>,
    audience: &Audience,
    configured: Option<&Audience>,
) -> Settings {
    let Some(server) = server.filter(|_| configured != Some(audience)) else { return settings.clone() };
    let path = server.split_once("://").map_or(server, |(_, rest)| rest).split_once('/').map_or("", |(_, path)| path);
    let path = if path.is_empty() { "v1" } else { path };
    let origin = Origin::Flag { flag: "SERVER".to_owned() };
    let address = Setting { value: json!(format!("{audience}/{path}")), origin };
    // The key in the variable stays with the server that it was set for.
    let own = configured.map(|own| {
        let setting = Setting { value: json!(own), origin: Origin::BuiltIn };
        ("extensions.auth-apikey.own_key_for".to_owned(), setting)
    });
    let others = settings.iter().filter(|(name, _)| !name.starts_with("model.headers"));
    let others = others.map(|(name, setting)| (name.to_owned(), setting.clone()));
    Settings::new(others.chain(own).chain([("model.base_url".to_owned(), address)]).collect())
}

fn ask(loaded: &Loaded, settings: Settings) -> Result<Result<Vec<ModelInfo>, ProviderError>, Failure> {
    let extensions = vec![ext_auth_apikey::extension(), ext_provider_openai_compat::extension()];
    let running = Running::start_with(loaded, extensions, Threads::One, settings, Level::Error)?;
    let found = running.host().providers().into_iter().find(|provider| provider.name == OPENAI_COMPAT);
    let Some(provider) = found else {
        return Err(Failure::internal(format!("the provider `{OPENAI_COMPAT}` did not start"))
            .hint("`dispatch ext list` says why"));
    };
    let outcome = running.block_on(provider.item.models());
    running.shutdown();
    Ok(outcome)
}

fn report(
    audience: &Audience,
    outcome: Result<Vec<ModelInfo>, ProviderError>,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    if format == Format::Json {
        printer.json(&match &outcome {
            Ok(models) => json!({ "server": audience, "works": true, "models": models }),
            Err(error) => json!({ "server": audience, "works": false, "error": error }),
        })?;
    } else {
        match &outcome {
            Ok(models) => {
                let names: Vec<&str> = models.iter().take(SHOWN_MODELS).map(|model| model.id.as_str()).collect();
                let more = if models.len() > SHOWN_MODELS { ", ..." } else { "" };
                printer.out(&format!(
                    "{audience} answers and offers {} models: {}{more}",
                    models.len(),
                    names.join(", ")
                ));
            }
            Err(error) => printer.out(&error.to_string()),
        }
    }
    Ok(if outcome.is_ok() { Status::Done } else { Status::No })
}
