//! `write_file`: a whole file, new or in place of one that the session knows.

use std::path::Path;

use dispatch_contracts::tool::{Effect, ToolContext, ToolError, ToolOutput, read_arguments};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::WRITE_FILE;
use crate::document::{LineEnding, TextDocument};
use crate::file_workspace::{FileWorkspace, LoadedFile, MAX_FILE_BYTES, load, store, touches_path};
use crate::tool::FileToolDefinition;
use crate::tool_errors::explain;

pub(crate) const DEFINITION: FileToolDefinition = FileToolDefinition {
    name: WRITE_FILE,
    description: "Writes a whole file of the workspace and makes missing folders. To replace a file that exists, read it \
                  with read_file first; if it changed since, this is refused. For a small change of a file use \
                  edit_file instead. Permissions, encoding and CRLF line ends of a replaced file are kept.",
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
            "content": {"type": "string", "description": "All of the file's new content."}
        },
        "required": ["path", "content"],
        "additionalProperties": false
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFileArguments {
    path: String,
    content: String,
}

fn run(files: &FileWorkspace, arguments: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let WriteFileArguments { path, content } = read_arguments(arguments)?;
    let path = Path::new(&path);
    if content.len() as u64 > MAX_FILE_BYTES {
        return Err(ToolError(format!("The content has {} bytes, and the limit is {MAX_FILE_BYTES}.", content.len())));
    }
    let spot = files.workspace(context)?.locate(path).map_err(|error| explain(&error, path))?;
    let _lock = files.write_lock();
    let found = load(spot.clone(), path)?;
    let bytes = match &found {
        None => content.clone().into_bytes(),
        Some(found) => {
            check_known(files, context, found, path)?;
            spell_like(&found.bytes, &content)
        }
    };
    store(&spot, &bytes, path)?;
    files.remember(&context.session, spot.path(), &bytes);
    let done = if found.is_some() { "Replaced" } else { "Created" };
    Ok(ToolOutput::text(format!(
        "{done} {} ({}, {}).",
        path.display(),
        counted(content.lines().count(), "line"),
        counted(bytes.len(), "byte")
    )))
}

fn counted(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

fn check_known(files: &FileWorkspace, context: &ToolContext, found: &LoadedFile, path: &Path) -> Result<(), ToolError> {
    // An empty file holds nothing that could be lost.
    if !found.bytes.is_empty() && files.last_seen(&context.session, found.spot.path()).is_none() {
        return Err(ToolError(format!(
            "{} exists and you have not read it in this session. Nothing was written. Read it with read_file first, or change a part of it with edit_file.",
            path.display()
        )));
    }
    files.check_unchanged(&context.session, found, path)
}

/// The content in the spelling of the old file, where it has one in it.
fn spell_like(old: &[u8], content: &str) -> Vec<u8> {
    let Some(document) = TextDocument::read(old) else {
        return content.as_bytes().to_vec();
    };
    let keeps_returns = document.line_end == LineEnding::CrLf && !content.contains('\r');
    let text = if keeps_returns { document.with_line_ends(content) } else { content.to_owned() };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    document.spell(text).unwrap_or_else(|_| text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_spelling_is_kept_where_it_can_be() {
        assert_eq!(spell_like(b"a\r\nb\r\n", "x\ny\n"), b"x\r\ny\r\n");
        assert_eq!(spell_like(b"a\r\nb\r\n", "x\r\ny\n"), b"x\r\ny\n", "who writes returns means them");
        assert_eq!(spell_like(b"\xef\xbb\xbfa", "x"), b"\xef\xbb\xbfx");
        assert_eq!(spell_like(b"\xef\xbb\xbfa", "\u{feff}x"), b"\xef\xbb\xbfx");
        assert_eq!(spell_like(b"h\xe9", "\u{e9}"), b"\xe9");
        assert_eq!(spell_like(b"h\xe9", "\u{20ac}"), "\u{20ac}".as_bytes());
        assert_eq!(spell_like(b"\0\x01", "x"), b"x");
    }
}
