//! The doctor's lines about our own agent: where it keeps conversations, and who answers.

use super::{DoctorFinding, note, ok, wrong};
use crate::commands::storage::SchemaDifference;
use crate::running::{ChosenModel, Running, Threads, chosen_model, runtime};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::storage::StorageError;
use ext_provider_openai_compat::contract::{OPENAI_COMPAT, REHEARSAL};
use ext_storage_postgres::contract::{DatabaseAddress, SchemaState, inspect as inspect_server};
use ext_storage_sqlite::contract::{Location, inspect, is_for_a_server};
use std::sync::Arc;

const STORAGE: &str = "storage";
const MODEL: &str = "model";

/// The database: looked at, never made.
pub(super) fn storage(loaded: &Loaded, extensions: &[Arc<dyn Extension>]) -> Vec<DoctorFinding> {
    let url: Option<String> = loaded.settings.read("storage.url");
    if let Some(url) = url.as_deref().filter(|url| is_for_a_server(url)) {
        return vec![server(loaded, extensions, url)];
    }
    let location = match Location::parse(url.as_deref(), &loaded.dirs.data) {
        Ok(location) => location,
        Err(error) => return vec![wrong(STORAGE, error.to_string(), "correct storage.url")],
    };
    let Location::File(named) = &location else {
        return vec![note(STORAGE, "in memory: nothing outlives the program", "unset storage.url to keep sessions")];
    };
    let found = inspect(&location);
    if !found.problems.is_empty() {
        return found.problems.into_iter().map(|problem| wrong(STORAGE, problem.what, problem.hint)).collect();
    }
    vec![match found.path {
        Some(path) => {
            ok(STORAGE, format!("{}, {} KiB", path.display(), (found.bytes + found.log_bytes).div_ceil(1024)))
        }
        None => ok(STORAGE, format!("{} (created when needed)", named.display())),
    }]
}

/// A database server: asked, never changed.
fn server(loaded: &Loaded, extensions: &[Arc<dyn Extension>], url: &str) -> DoctorFinding {
    let address = match DatabaseAddress::parse(url) {
        Ok(address) => address,
        Err(error) => return wrong(STORAGE, error.to_string(), "correct storage.url"),
    };
    match inspect_server(&address) {
        Ok(state) if state.namespaces.is_empty() => {
            ok(STORAGE, format!("{address}, PostgreSQL {}, empty (tables are made when needed)", state.server))
        }
        Ok(state) => match Running::known_migrations(loaded, extensions.to_vec()) {
            Ok(known) => tables(&address, &state, &SchemaDifference::between(&known, &state.namespaces)),
            Err(failure) => wrong(STORAGE, failure.messages.join("; "), "correct what the extensions report"),
        },
        Err(error @ StorageError::Unreachable(_)) => wrong(
            STORAGE,
            error.to_string(),
            "start the database, or correct storage.url; work goes on once it answers",
        ),
        Err(error) => wrong(STORAGE, error.to_string(), "correct storage.url, or the database that it names"),
    }
}

/// What the tables of a server are like.
fn tables(address: &DatabaseAddress, state: &SchemaState, differences: &[SchemaDifference]) -> DoctorFinding {
    let SchemaState { server, schema, latency_us, namespaces } = state;
    let told = format!("{address}, PostgreSQL {server}, {latency_us} us a question, schema {schema}");
    let listed = differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    match differences.iter().any(SchemaDifference::is_newer) {
        _ if differences.is_empty() => ok(STORAGE, format!("{told} with {} namespaces up to date", namespaces.len())),
        true => wrong(STORAGE, format!("{told}: {listed}"), "use the newer version of dispatch that changed it"),
        false => note(STORAGE, format!("{told}: {listed}"), "the next start of `dispatch serve` or `chat` does it"),
    }
}

/// Which provider would answer, and why.
pub(super) fn model(loaded: &Loaded) -> DoctorFinding {
    let runtime = match runtime(Threads::One) {
        Ok(runtime) => runtime,
        Err(failure) => return wrong(MODEL, failure.messages.join("; "), "report this as a bug"),
    };
    finding(&runtime.block_on(chosen_model(&loaded.settings)))
}

/// The same, of a choice that was made.
pub(in crate::commands) fn finding(chosen: &ChosenModel) -> DoctorFinding {
    let choice = &chosen.choice;
    let model = choice.model.as_deref().map(|model| format!("{model} by ")).unwrap_or_default();
    let at = choice.base_url.as_deref().map(|address| format!(" at {address}")).unwrap_or_default();
    let told = format!("{model}{}{at}: {}", choice.provider, choice.reason);
    match choice.provider.as_str() {
        REHEARSAL => note(
            MODEL,
            told,
            "start a local server such as Ollama, or set model.base_url and model.model; `dispatch auth add` keeps a key",
        ),
        OPENAI_COMPAT if choice.base_url.is_none() => wrong(MODEL, told, "set model.base_url, or start a local server"),
        OPENAI_COMPAT if choice.model.is_none() => {
            note(MODEL, told, "set model.model, unless the server has one model alone")
        }
        _ => ok(MODEL, told),
    }
}
