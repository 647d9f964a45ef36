//! `dispatch config`: the settings in force, and who set them.

use crate::app::Status;
use crate::args::ConfigCommand;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::{ExtensionSchemas, FileState, Loaded, SettingsFile};
use dispatch_contracts::settings::{Origin, Setting};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) fn run(
    loaded: &Loaded,
    extensions: &ExtensionSchemas,
    command: &ConfigCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    match command {
        ConfigCommand::Show { name, json } => show(loaded, name.as_deref(), (*json).into(), printer),
        ConfigCommand::Paths { json } => paths(loaded, (*json).into(), printer),
        ConfigCommand::Schema => printer.json(&whole_schema(extensions)).map(|()| Status::Done),
    }
}

/// The built-in settings with the section of each extension.
fn whole_schema(extensions: &ExtensionSchemas) -> Value {
    let mut schema = crate::settings::settings_schema();
    for (id, own) in extensions {
        schema["properties"]["extensions"]["properties"][id.as_str()] = own.clone();
    }
    schema
}

fn show(loaded: &Loaded, name: Option<&str>, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let wanted = |key: &str| {
        name.is_none_or(|name| key == name || key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
    };
    let found: BTreeMap<&str, Setting> = loaded
        .settings
        .iter()
        .filter(|(key, _)| wanted(key))
        .map(|(key, setting)| (key, shown(key, setting)))
        .collect();
    if let (true, Some(name)) = (found.is_empty(), name) {
        return Err(Failure::usage(format!("unknown setting `{name}`")).hint(
            "`dispatch config show` lists the settings in force; `dispatch config schema` describes all of them",
        ));
    }
    if format == Format::Json {
        printer.json(&found)?;
        return Ok(Status::Done);
    }
    let row = |(key, setting): (&&str, &Setting)| {
        vec![(*key).to_owned(), setting.value.to_string(), format!("# {}", origin(&setting.origin))]
    };
    printer.out(&table(&found.iter().map(row).collect::<Vec<_>>()));
    for file in &loaded.files {
        if let Some(warning) = withheld(file) {
            printer.warn(&warning);
        }
    }
    Ok(Status::Done)
}

/// A setting as it may be shown: a secret of a webhook only where it says where the secret is.
fn shown(key: &str, setting: &Setting) -> Setting {
    if !(key.starts_with("route.webhooks.") && key.ends_with(".secrets")) {
        return setting.clone();
    }
    let is_reference = |text: &str| text.starts_with("env:") || text.starts_with("file:");
    let hidden = |value: &Value| match value.as_str() {
        Some(text) if is_reference(text) => value.clone(),
        _ => Value::String("[secret]".to_owned()),
    };
    let value = setting.value.as_array().map_or(Value::Null, |values| values.iter().map(hidden).collect());
    Setting { value, origin: setting.origin.clone() }
}

fn paths(loaded: &Loaded, format: Format, printer: &Printer) -> Result<Status, Failure> {
    if format == Format::Json {
        printer.json(&json!({
            "config": loaded.dirs.config,
            "data": loaded.dirs.data,
            "state": loaded.dirs.state,
            "cache": loaded.dirs.cache,
            "project": loaded.project.as_ref().map(|root| &root.path),
            "files": loaded.files,
        }))?;
        return Ok(Status::Done);
    }
    let row = |file: &SettingsFile| {
        let state = match &file.state {
            FileState::Absent => "not there",
            FileState::Read => "read",
            FileState::Withheld { .. } => "read in part: not approved",
        };
        vec![file.path.display().to_string(), state.to_owned()]
    };
    printer.out(&table(&loaded.files.iter().map(row).collect::<Vec<_>>()));
    Ok(Status::Done)
}

/// Where a value came from, in words.
fn origin(origin: &Origin) -> String {
    match origin {
        Origin::BuiltIn => "built in".to_owned(),
        Origin::Global { file } | Origin::Project { file } => file.clone(),
        Origin::Environment { variable } => format!("variable {variable}"),
        Origin::Flag { flag } => format!("flag {flag}"),
    }
}

/// What a person should know about a file that does not count in full.
pub(crate) fn withheld(file: &SettingsFile) -> Option<String> {
    let FileState::Withheld { settings, changed } = &file.state else { return None };
    let why = if *changed { "changed since you approved it" } else { "came with the project and is not approved" };
    Some(format!(
        "{} {why}, so it does not decide: {}. Look at it, then run `dispatch trust`.",
        file.path.display(),
        settings.join(", ")
    ))
}
