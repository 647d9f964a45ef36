//! Takes paths, commands and addresses out of a tool's input, whatever its fields are called.
//!
//! Pure.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// A list field with more entries than this is cut: no host sends one.
const MAX_LIST_ENTRIES: usize = 4096;

/// Fields that hold one path.
const PATH_FIELDS: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolute_path",
    "absolutePath",
    "AbsolutePath",
    "target_file",
    "targetFile",
    "TargetFile",
    "notebook_path",
    "notebookPath",
    "target_notebook",
    "uri",
    "fileUri",
    "file",
    "File",
    "filename",
    "relative_workspace_path",
    "dir_path",
    "dirPath",
    "directory",
    "DirectoryPath",
    "SearchDirectory",
    "SearchPath",
    "target_directory",
    "repositoryPath",
];

/// Fields that hold several paths, or several objects with a path each.
const PATH_LIST_FIELDS: &[&str] = &[
    "paths",
    "files",
    "filePaths",
    "file_paths",
    "edits",
    "replacements",
    "operations",
    "changes",
    "include",
    "target_directories",
    "TargetDirectories",
];

const COMMAND_FIELDS: &[&str] = &["command", "cmd", "command_line", "commandLine", "CommandLine", "script"];
const COMMAND_LIST_FIELDS: &[&str] = &["commands", "command", "cmd"];
const DIRECTORY_FIELDS: &[&str] = &[
    "cwd",
    "Cwd",
    "working_directory",
    "workingDirectory",
    "working_dir",
    "workdir",
    "dir_path",
    "directory",
    "workspaceFolder",
];
const PATCH_FIELDS: &[&str] = &["input", "command", "patch", "patchText", "patch_text", "diff", "content"];
const KEYSTROKE_FIELDS: &[&str] = &["input", "text", "chars", "command", "data", "keys"];
const URL_FIELDS: &[&str] = &["url", "Url", "uri", "urls", "URL"];

/// A tool's input as an object, parsed first where the host sends it as JSON text.
pub(crate) fn object(input: &Value) -> Cow<'_, Map<String, Value>> {
    match input {
        Value::Object(map) => Cow::Borrowed(map),
        Value::String(text) if text.trim_start().starts_with('{') => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(map)) => Cow::Owned(map),
            _ => Cow::Owned(Map::new()),
        },
        _ => Cow::Owned(Map::new()),
    }
}

/// Every path that the fields name, in the order of the fields.
pub(crate) fn paths(input: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    collect_paths(input, &mut found);
    for field in PATH_LIST_FIELDS {
        let Some(value) = input.get(*field) else {
            continue;
        };
        for entry in list(value).iter().take(MAX_LIST_ENTRIES) {
            match entry {
                Value::String(path) => push(path, &mut found),
                Value::Object(map) => collect_paths(map, &mut found),
                _ => {}
            }
        }
    }
    found
}

/// The command line, joined where the host sends an argument list or several commands.
pub(crate) fn command(input: &Map<String, Value>) -> Option<String> {
    if let Some(text) = first_text(input, COMMAND_FIELDS) {
        return Some(text);
    }
    let (field, entries) = COMMAND_LIST_FIELDS.iter().find_map(|field| {
        let entries = list(input.get(*field)?);
        (!entries.is_empty()).then_some((*field, entries))
    })?;
    let texts = entries.iter().take(MAX_LIST_ENTRIES).filter_map(|entry| match entry {
        Value::String(text) => Some(text.clone()),
        Value::Object(map) => first_text(map, COMMAND_FIELDS),
        _ => None,
    });
    if field == "commands" {
        return Some(texts.collect::<Vec<_>>().join("\n"));
    }
    Some(texts.map(|text| quote(&text)).collect::<Vec<_>>().join(" "))
}

/// The command line of a `task` object with its arguments.
pub(crate) fn task_command(input: &Map<String, Value>) -> Option<String> {
    let task = input.get("task").map(object)?;
    let command = first_text(&task, COMMAND_FIELDS)?;
    let arguments = task.get("args").map(|value| list(value)).unwrap_or_default();
    let words = arguments.iter().filter_map(Value::as_str).map(quote);
    let mut line = vec![command];
    line.extend(words);
    Some(line.join(" "))
}

/// The folder that the call itself asks to run in.
pub(crate) fn working_directory(input: &Map<String, Value>) -> Option<String> {
    first_text(input, DIRECTORY_FIELDS).filter(|path| !path.is_empty())
}

/// Patch text: the whole value, or the field that holds it.
pub(crate) fn patch_text(input: &Value) -> Option<String> {
    if let Value::String(text) = input
        && !text.trim_start().starts_with('{')
    {
        return Some(text.clone());
    }
    first_text(&object(input), PATCH_FIELDS)
}

/// Text that is typed into a process that already runs.
pub(crate) fn keystrokes(input: &Map<String, Value>) -> Option<String> {
    first_text(input, KEYSTROKE_FIELDS)
}

/// Addresses in the address fields, else those written in a prompt.
pub(crate) fn urls(input: &Map<String, Value>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for field in URL_FIELDS {
        match input.get(*field) {
            Some(Value::String(url)) => push(url, &mut found),
            Some(Value::Array(entries)) => {
                for url in entries.iter().take(MAX_LIST_ENTRIES).filter_map(Value::as_str) {
                    push(url, &mut found);
                }
            }
            _ => {}
        }
    }
    if found.is_empty()
        && let Some(Value::String(prompt)) = input.get("prompt")
    {
        for word in prompt.split(|c: char| c.is_whitespace() || "<>\"'()".contains(c)) {
            if word.starts_with("https://") || word.starts_with("http://") {
                push(word.trim_end_matches(['.', ',', ';']), &mut found);
            }
        }
    }
    found
}

/// A text field by any of the given names.
pub(crate) fn first_text(input: &Map<String, Value>, fields: &[&str]) -> Option<String> {
    fields.iter().find_map(|field| input.get(*field)?.as_str().map(str::to_owned))
}

fn collect_paths(map: &Map<String, Value>, found: &mut Vec<String>) {
    for field in PATH_FIELDS {
        match map.get(*field) {
            Some(Value::String(path)) => push(path, found),
            Some(Value::Object(uri)) => {
                if let Some(path) = first_text(uri, &["fsPath", "path"]) {
                    push(&path, found);
                }
            }
            _ => {}
        }
    }
}

fn push(text: &str, found: &mut Vec<String>) {
    if !text.is_empty() && !found.iter().any(|seen| seen == text) {
        found.push(text.to_owned());
    }
}

/// A list, also where it arrives as JSON text or as one entry alone.
fn list(value: &Value) -> Cow<'_, [Value]> {
    match value {
        Value::Array(entries) => Cow::Borrowed(entries),
        Value::Object(_) => Cow::Borrowed(std::slice::from_ref(value)),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Array(entries)) => Cow::Owned(entries),
            _ => Cow::Owned(vec![value.clone()]),
        },
        _ => Cow::Borrowed(&[]),
    }
}

/// One argument as a shell word.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
