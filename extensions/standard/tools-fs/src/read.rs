//! `read_file`: a part of a text with its line numbers, a picture, or a description of anything else.

use std::path::Path;

use base64::Engine as _;
use dispatch_contracts::conversation::Image;
use dispatch_contracts::tool::{Effect, ToolContext, ToolError, ToolOutput, read_arguments};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::contract::READ_FILE;
use crate::document::TextDocument;
use crate::file_workspace::{FileWorkspace, load, touches_path};
use crate::tool::FileToolDefinition;

/// Bytes shown in one call, line numbers included; below what a turn cuts by itself.
const MAX_SHOWN_BYTES: usize = 40 * 1024;
const MAX_SHOWN_LINES: usize = 2_000;
/// Characters shown of one line.
const MAX_LINE_CHARACTERS: usize = 2_000;
/// The largest picture that providers take.
const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;
const SHOWN_BINARY_BYTES: usize = 16;

pub(crate) const DEFINITION: FileToolDefinition = FileToolDefinition {
    name: READ_FILE,
    description: "Reads a file of the workspace. Text comes with line numbers (number, tab, line); they are not part of \
                  the file, so leave them out when you quote the text in edit_file. Long files come in parts: the \
                  answer says what was left out and how to read on. PNG, JPEG, GIF and WebP files are shown as \
                  pictures; other binary files are described.",
    parameters,
    touches: touches_path,
    run,
    effect: Effect::Looks,
};

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the working folder or absolute."},
            "start_line": {"type": "integer", "minimum": 1, "description": "First line to show, counted from 1. Default: 1."},
            "end_line": {"type": "integer", "minimum": 1, "description": "Last line to show. Default: as many as fit."}
        },
        "required": ["path"],
        "additionalProperties": false
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFileArguments {
    path: String,
    start_line: Option<usize>,
    end_line: Option<usize>,
}

fn run(files: &FileWorkspace, arguments: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let arguments: ReadFileArguments = read_arguments(arguments)?;
    let path = Path::new(&arguments.path);
    let spot = match files.kept_output(path) {
        Some(spot) => spot,
        None => files.workspace(context)?.locate(path).map_err(|error| crate::tool_errors::explain(&error, path))?,
    };
    let missing =
        || ToolError(format!("{} does not exist. Use list_files or find_files to see what does.", path.display()));
    let found = load(spot, path)?.ok_or_else(missing)?;
    if let Some(media_type) = picture(&found.bytes) {
        return show_picture(&found.bytes, media_type, path);
    }
    let Some(document) = TextDocument::read(&found.bytes) else {
        return Ok(ToolOutput::text(describe(&found.bytes, path)));
    };
    let text = show(&document, arguments.start_line, arguments.end_line)?;
    files.remember(&context.session, found.spot.path(), &found.bytes);
    Ok(ToolOutput::text(text))
}

/// The asked lines with their numbers, and what was left out.
fn show(document: &TextDocument, start: Option<usize>, end: Option<usize>) -> Result<String, ToolError> {
    let lines: Vec<&str> = document.text.lines().collect();
    let (first, last) = (start.unwrap_or(1).max(1), end.unwrap_or(usize::MAX));
    if last < first {
        return Err(ToolError(format!("end_line {last} is before start_line {first}.")));
    }
    if lines.is_empty() {
        return Ok("[The file is empty.]".to_owned());
    }
    if first > lines.len() {
        return Err(ToolError(format!("start_line {first} is behind the end: the file has {} lines.", lines.len())));
    }
    let wanted = lines.iter().enumerate().skip(first - 1).take(last - first + 1);
    let mut text = String::new();
    let mut shown = first - 1;
    for (index, line) in wanted.take(MAX_SHOWN_LINES) {
        let numbered = format!("{:>6}\t{}\n", index + 1, cut_line(line));
        if text.len() + numbered.len() > MAX_SHOWN_BYTES {
            break;
        }
        text.push_str(&numbered);
        shown = index + 1;
    }
    if first > 1 || shown < lines.len() {
        text.push_str(&format!("[Lines {first} to {shown} of {}.", lines.len()));
        if shown < lines.len() && shown < last {
            text.push_str(&format!(" The rest was left out; read on with start_line {}.", shown + 1));
        }
        text.push_str("]\n");
    }
    if let Some(peculiarity) = document.peculiarity() {
        text.push_str(&format!("[{peculiarity}; edits keep that.]\n"));
    }
    Ok(text)
}

fn cut_line(line: &str) -> String {
    match line.char_indices().nth(MAX_LINE_CHARACTERS) {
        None => line.to_owned(),
        Some((end, _)) => {
            let (kept, rest) = line.split_at(end);
            format!("{kept} [... {} more characters on this line]", rest.chars().count())
        }
    }
}

fn picture(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn show_picture(bytes: &[u8], media_type: &str, path: &Path) -> Result<ToolOutput, ToolError> {
    if bytes.len() > MAX_IMAGE_BYTES {
        let text = "is a picture of {} bytes, and the limit is";
        let text = text.replace("{}", &bytes.len().to_string());
        return Err(ToolError(format!(
            "{} {text} {MAX_IMAGE_BYTES}. Make a smaller copy of it first.",
            path.display()
        )));
    }
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    let image = Image { media_type: media_type.to_owned(), data };
    Ok(ToolOutput { text: format!("[{}: {media_type}, {} bytes]", path.display(), bytes.len()), images: vec![image] })
}

fn describe(bytes: &[u8], path: &Path) -> String {
    let kind = match bytes {
        [0x7f, b'E', b'L', b'F', ..] => "an ELF executable or library",
        [b'%', b'P', b'D', b'F', ..] => "a PDF document",
        [b'P', b'K', 3 | 5, ..] => "a ZIP archive (or a document or package made of one)",
        [0x1f, 0x8b, ..] => "gzip data",
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => "an SQLite database",
        [0, b'a', b's', b'm', ..] => "a WebAssembly module",
        _ => "a binary file",
    };
    let start: Vec<String> = bytes.iter().take(SHOWN_BINARY_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!(
        "[{} is {kind} of {} bytes and is not shown. It starts with {}.]",
        path.display(),
        bytes.len(),
        start.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, start: Option<usize>, end: Option<usize>) -> String {
        show(&TextDocument::read(text.as_bytes()).unwrap(), start, end).unwrap_or_else(|error| error.0)
    }

    #[test]
    fn lines_are_numbered_and_the_rest_is_told() {
        assert_eq!(shown("a\nb\n", None, None), "     1\ta\n     2\tb\n");
        assert_eq!(shown("a\r\nb", None, None), "     1\ta\n     2\tb\n[CRLF line ends; edits keep that.]\n");
        assert_eq!(shown("a\nb\nc\n", Some(2), Some(2)), "     2\tb\n[Lines 2 to 2 of 3.]\n");
        assert_eq!(shown("a\nb\n", Some(2), Some(99)), "     2\tb\n[Lines 2 to 2 of 2.]\n");
        assert_eq!(shown("", None, None), "[The file is empty.]");
        assert!(shown("a\n", Some(2), None).contains("the file has 1 lines"));
        assert!(shown("a\n", Some(2), Some(1)).contains("is before"));
    }

    #[test]
    fn what_is_shown_is_bounded() {
        let many = "x\n".repeat(5_000);
        assert!(
            shown(&many, None, None)
                .ends_with("[Lines 1 to 2000 of 5000. The rest was left out; read on with start_line 2001.]\n")
        );
        let wide = format!("{}\n", "\u{e9}".repeat(5_000)).repeat(50);
        let text = shown(&wide, None, None);
        assert!(text.len() < MAX_SHOWN_BYTES + 200, "{}", text.len());
        assert!(text.contains("[... 3000 more characters on this line]"));
    }

    #[test]
    fn pictures_are_known_by_their_first_bytes() {
        assert_eq!(picture(b"\x89PNG\r\n\x1a\nrest"), Some("image/png"));
        assert_eq!(picture(b"RIFF1234WEBPVP8 "), Some("image/webp"));
        assert_eq!(picture(b"GIF8"), None);
        assert!(describe(b"\x7fELF\0", Path::new("x")).contains("ELF executable or library of 5 bytes"));
    }
}
