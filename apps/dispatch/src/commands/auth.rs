//! `dispatch auth`: keys for model servers, each for one server alone.

mod channel_secret;
mod trial;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use clap::{Subcommand, ValueEnum};
use dispatch_contracts::extension::Extension;
use dispatch_contracts::secret::Secret;
use dispatch_os::files::read_stream_at_most;
use dispatch_os::{terminal, time};
use ext_auth_apikey::contract::{Audience, KeyEntry, KeyError, KeyLocation, KeyStore, MAX_KEY_BYTES, NewKey, all_keys};
use serde_json::json;
use std::sync::Arc;

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Store a key for a server; it is read from standard input or a prompt, never from an argument
    Add(AddRequest),
    /// List the keys, where each is stored, and the server it is for
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Remove a key that was added
    Remove {
        /// The key's name, or the server it is for
        name: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Ask a server for its models with its key
    Test {
        /// The server's address; default: model.base_url
        server: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct AddRequest {
    /// The one server the key is for, such as https://api.openai.com, or channel:CHANNEL:ACCOUNT for a secret of a
    /// channel; default: the server of model.base_url
    server: Option<String>,
    /// The name of the key; default: the host of the server
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The header that carries the key; default: `Authorization: Bearer`
    #[arg(long, value_name = "HEADER")]
    header: Option<String>,
    /// Where to store the key
    #[arg(long, value_enum, default_value_t = StoreName::Best)]
    store: StoreName,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StoreName {
    /// The keyring of the session if there is one, else the file
    Best,
    /// The keyring; fails if there is none
    Keyring,
    /// A file that only you can read
    File,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &AuthCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    let store = KeyStore::open(&loaded.dirs.data);
    match command {
        AuthCommand::Add(AddRequest { server: Some(name), json, .. }) if channel_secret::is_meant(name) => {
            channel_secret::add(loaded, extensions, name, (*json).into(), printer)
        }
        AuthCommand::Remove { name, json } if channel_secret::is_meant(name) => {
            channel_secret::remove(loaded, extensions, name, (*json).into(), printer)
        }
        AuthCommand::Add(request) => add(loaded, &store, request, printer),
        AuthCommand::List { json } => list(loaded, &store, (*json).into(), printer),
        AuthCommand::Remove { name, json } => remove(&store, name, (*json).into(), printer),
        AuthCommand::Test { server, json } => trial::run(loaded, server.as_deref(), (*json).into(), printer),
    }
}

fn add(loaded: &Loaded, store: &KeyStore, request: &AddRequest, printer: &Printer) -> Result<Status, Failure> {
    let audience = match &request.server {
        Some(server) => Audience::parse(server)?,
        None => configured(loaded)?.ok_or_else(no_server)?,
    };
    let added = store.add(NewKey {
        name: request.name.clone(),
        header: request.header.clone(),
        key: read_secret(&audience.to_string())?,
        place: match request.store {
            StoreName::Best => KeyLocation::Best,
            StoreName::Keyring => KeyLocation::Keyring,
            StoreName::File => KeyLocation::File,
        },
        audience,
    })?;
    if request.json {
        printer.json(&json!({ "added": added }))?;
    } else {
        printer
            .out(&format!("stored the key `{}` ({}); it is sent to {} only", added.name, added.source, added.audience));
        printer.note("`dispatch auth test` tries it");
    }
    Ok(Status::Done)
}

/// One line from the prompt, or all of standard input. Every user of the machine can see arguments.
fn read_secret(purpose: &str) -> Result<Secret, Failure> {
    if terminal::is_interactive() {
        let typed = terminal::ask_secret(&format!("Key for {purpose} (it is not shown): "))?;
        return Ok(Secret::new(typed.unwrap_or_default()));
    }
    // Room for a line end behind the longest key.
    let bytes = read_stream_at_most(std::io::stdin().lock(), "standard input", MAX_KEY_BYTES as u64 + 2)?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("the key on standard input is not text"))?;
    Ok(Secret::new(text))
}

fn list(loaded: &Loaded, store: &KeyStore, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let found = all_keys(store, configured(loaded)?.as_ref())?;
    if format == Format::Json {
        printer.json(&json!({ "keys": found }))?;
        return Ok(Status::Done);
    }
    if found.is_empty() {
        printer.out("no keys");
        printer.note("`dispatch auth add` stores one; a server on this machine usually needs none");
        return Ok(Status::Done);
    }
    printer.out(&table(&found.iter().map(row).collect::<Vec<_>>()));
    Ok(Status::Done)
}

fn row(entry: &KeyEntry) -> Vec<String> {
    let ends_with = if entry.ends_with.is_empty() { "...".to_owned() } else { format!("...{}", entry.ends_with) };
    let added = entry.added_ms.map_or_else(String::new, time::rfc3339);
    vec![entry.name.clone(), entry.audience.to_string(), entry.source.clone(), ends_with, added]
}

fn remove(store: &KeyStore, name: &str, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let removed = store.remove(name)?;
    if format == Format::Json {
        printer.json(&json!({ "removed": removed }))?;
    } else {
        removed.iter().for_each(|key| printer.out(&format!("removed the key `{}` for {}", key.name, key.audience)));
    }
    if removed.is_empty() {
        let failure = Failure::usage(format!("no added key is named `{name}`"));
        return Err(failure.hint("`dispatch auth list` shows all; a key in a variable is removed where it is set"));
    }
    Ok(Status::Done)
}

/// The server that the settings name.
fn configured(loaded: &Loaded) -> Result<Option<Audience>, Failure> {
    let address: Option<String> = loaded.settings.read("model.base_url");
    Ok(address.map(|address| Audience::parse(&address)).transpose()?)
}

fn no_server() -> Failure {
    Failure::usage("no server is named and model.base_url is not set")
        .hint("name the server: dispatch auth add https://api.openai.com")
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Self {
        let failure = match &error {
            KeyError::InvalidAddress { .. } | KeyError::InvalidKey { .. } => Self::usage(error.to_string()),
            KeyError::Damaged { .. } | KeyError::TooNew { .. } => Self::configuration(error.to_string()),
            KeyError::Os(dispatch_os::OsError::OpenToOthers { .. }) => Self::configuration(error.to_string()),
            KeyError::Keyring { .. } | KeyError::Thread(_) | KeyError::Interrupted | KeyError::Os(_) => {
                Self::internal(error.to_string())
            }
        };
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
