//! `edit_file`: an exact text of a file is replaced by another.

use std::path::Path;

use dispatch_contracts::tool::{Effect, ToolContext, ToolError, ToolOutput, read_arguments};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::EDIT_FILE;
use crate::document::TextDocument;
use crate::file_workspace::{FileWorkspace, load, store, touches_path};
use crate::nearest;
use crate::replacement::{PlainText, replace_at};
use crate::tool::FileToolDefinition;
use crate::tool_errors::explain;

/// Places listed when there are several.
const MAX_LISTED_PLACES: usize = 10;
/// Lines shown of the changed text.
const MAX_SHOWN_LINES: usize = 30;

pub(crate) const DEFINITION: FileToolDefinition = FileToolDefinition {
    name: EDIT_FILE,
    description: "Replaces an exact text in a file of the workspace. old_text must be in the file exactly once, white \
                  space included, without the line numbers that read_file shows; quote enough lines around the change \
                  to make it unique, or set replace_all. If the file changed since you read it, this is refused. \
                  Encoding and line ends of the file are kept.",
    parameters,
    touches: touches_path,
    run,
    effect: Effect::Changes,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the working folder or absolute."},
            "old_text": {"type": "string", "description": "The text to replace, exactly as it is in the file."},
            "new_text": {"type": "string", "description": "What to put in its place; empty to remove it."},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence instead of exactly one. Default: false."}
        },
        "required": ["path", "old_text", "new_text"],
        "additionalProperties": false
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditFileArguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

fn run(files: &FileWorkspace, arguments: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let arguments: EditFileArguments = read_arguments(arguments)?;
    let path = Path::new(&arguments.path);
    if arguments.old_text.is_empty() {
        return Err(ToolError(
            "old_text is empty. Quote the text to replace; to make a new file use write_file.".to_owned(),
        ));
    }
    if arguments.old_text == arguments.new_text {
        return Err(ToolError("old_text and new_text are the same: there is nothing to change.".to_owned()));
    }
    let spot = files.workspace(context)?.locate(path).map_err(|error| explain(&error, path))?;
    let _lock = files.write_lock();
    let found = load(spot, path)?
        .ok_or_else(|| ToolError(format!("{} does not exist. Use write_file to make a new file.", path.display())))?;
    files.check_unchanged(&context.session, &found, path)?;
    let document = TextDocument::read(&found.bytes)
        .ok_or_else(|| ToolError(format!("{} is a binary file and cannot be edited as text.", path.display())))?;
    let plain = PlainText::of(&document.text);
    let places = choose(&plain, &arguments, path)?;
    let text = replace_at(&document, &plain, &places, &arguments.old_text, &arguments.new_text);
    let bytes = document.spell(&text).map_err(|character| no_spelling(character, &document, path))?;
    store(&found.spot, &bytes, path)?;
    files.remember(&context.session, found.spot.path(), &bytes);
    Ok(ToolOutput::text(report(&plain, &places, &text, &arguments)))
}

/// The places to change: one, or all where that was asked for.
fn choose(plain: &PlainText, arguments: &EditFileArguments, path: &Path) -> Result<Vec<usize>, ToolError> {
    let places = plain.find(&arguments.old_text);
    match places.as_slice() {
        [] => Err(ToolError(format!(
            "old_text is not in {}. Nothing was changed. {}",
            path.display(),
            nearest::hint(&plain.text, &arguments.old_text)
        ))),
        [_, _, ..] if !arguments.replace_all => {
            let lines: Vec<String> =
                places.iter().take(MAX_LISTED_PLACES).map(|at| plain.line_of(*at).to_string()).collect();
            let more = if places.len() > MAX_LISTED_PLACES { ", ..." } else { "" };
            Err(ToolError(format!(
                "old_text is in {} {} times (lines {}{more}). Nothing was changed. Quote more lines around the one you mean, or set replace_all.",
                path.display(),
                places.len(),
                lines.join(", ")
            )))
        }
        _ => Ok(places),
    }
}

pub(crate) fn no_spelling(character: char, document: &TextDocument, path: &Path) -> ToolError {
    ToolError(format!(
        "{} is {}, which has no way to write `{character}`. Nothing was changed.",
        path.display(),
        document.peculiarity().unwrap_or_default()
    ))
}

fn report(plain: &PlainText, places: &[usize], text: &str, arguments: &EditFileArguments) -> String {
    let path = &arguments.path;
    match places {
        [place] => {
            let first = plain.line_of(*place);
            let count = arguments.new_text.lines().count().clamp(1, MAX_SHOWN_LINES);
            let lines: Vec<&str> = text.lines().collect();
            let shown = lines.iter().enumerate().skip(first.saturating_sub(3)).take(count + 4);
            let shown: String = shown.map(|(index, line)| format!("{:>6}\t{line}\n", index + 1)).collect();
            format!("Changed {path} at line {first}:\n{shown}")
        }
        _ => format!("Changed {path} in {} places.", places.len()),
    }
}
