//! `dispatch storage`: which database holds the data, and moving all of it to another one.

mod copy;
mod schema_state;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::Running;
use crate::settings::Loaded;
pub(in crate::commands) use schema_state::SchemaDifference;

use copy::{CopiedTable, CopyRole, OpenedStorage, copy};
use dispatch_contracts::extension::Extension;
use dispatch_contracts::storage::StorageError;
use ext_storage_postgres::contract::{DatabaseAddress, inspect as inspect_server};
use ext_storage_sqlite::contract::{Location, inspect, is_for_a_server};
use serde_json::{Value, json};
use std::sync::Arc;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum StorageCommand {
    /// Show which database is used and what state it is in
    Status {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Copy everything from one database to another, empty one, and compare both row by row
    Copy {
        /// Where the data is: sqlite:PATH or postgres://USER@HOST/DATABASE
        from: String,
        /// Where it is to go, in the same form
        to: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &StorageCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    match command {
        StorageCommand::Status { json } => status(loaded, extensions, (*json).into(), printer),
        StorageCommand::Copy { from, to, json } => {
            let from = OpenedStorage::open(loaded, &extensions, from, CopyRole::Source)?;
            let to = OpenedStorage::open(loaded, &extensions, to, CopyRole::Target)?;
            let copied = copy(&from, &to)?;
            match Format::from(*json) {
                Format::Json => printer.json(&json!({ "tables": copied }))?,
                Format::Text => printer.out(&told(&copied)),
            }
            Ok(Status::Done)
        }
    }
}

fn told(copied: &[CopiedTable]) -> String {
    let rows: u64 = copied.iter().map(|table| table.rows).sum();
    let lines = copied.iter().map(|table| format!("{}: {} rows, the same in both\n", table.table, table.rows));
    format!("{}copied {rows} rows; name the new database in `storage.url` to use it", lines.collect::<String>())
}

fn status(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let url: Option<String> = loaded.settings.read("storage.url");
    let found = match url.as_deref().filter(|url| is_for_a_server(url)) {
        Some(url) => server(loaded, extensions, url)?,
        None => file(loaded, url.as_deref()).map_err(refused)?,
    };
    match format {
        Format::Json => printer.json(&found)?,
        Format::Text => {
            let lines = found.as_object().into_iter().flatten().map(|(name, value)| match value {
                Value::String(text) => format!("{name}: {text}"),
                other => format!("{name}: {other}"),
            });
            printer.out(&lines.collect::<Vec<_>>().join("\n"));
        }
    }
    Ok(Status::Done)
}

fn server(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>, url: &str) -> Result<Value, Failure> {
    let address = DatabaseAddress::parse(url).map_err(refused)?;
    let state = inspect_server(&address).map_err(refused)?;
    let known = Running::known_migrations(loaded, extensions)?;
    let differences = SchemaDifference::between(&known, &state.namespaces);
    let tables = match differences.is_empty() {
        true => "up to date".to_owned(),
        false => differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    };
    Ok(json!({
        "backend": "postgres", "location": address.to_string(), "version": state.server, "schema": state.schema,
        "latencyUs": state.latency_us, "migrations": state.namespaces, "tables": tables,
    }))
}

fn file(loaded: &Loaded, url: Option<&str>) -> Result<Value, StorageError> {
    let location = Location::parse(url, &loaded.dirs.data)?;
    let found = inspect(&location);
    let place = match &location {
        Location::File(path) => path.display().to_string(),
        Location::Memory => "memory".to_owned(),
    };
    let problems: Vec<String> = found.problems.into_iter().map(|problem| problem.what).collect();
    Ok(json!({
        "backend": "sqlite", "location": place, "bytes": found.bytes + found.log_bytes, "problems": problems,
    }))
}

/// What a command says of a database that it could not use.
fn refused(error: StorageError) -> Failure {
    let hint = match error {
        StorageError::Unreachable(_) => "start the database, or correct the URL",
        StorageError::Busy => "try again when other processes have less to do",
        _ => "`dispatch doctor` looks at the storage",
    };
    Failure::configuration(error.to_string()).hint(hint)
}
