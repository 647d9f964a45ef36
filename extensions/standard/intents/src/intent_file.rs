//! Reads, validates and edits the file with the declared intents.

mod edit;
mod loaded;
mod store;
mod text_replacement;
mod validate;
mod yaml_scalar;
mod yaml_tree;

use std::io::Read;

use dispatch_os::files;
use dispatch_os::time::parse_rfc3339;

use crate::layout::OrchestrationLayout;

pub use edit::{IntentEdit, IntentListField, IntentTextField};
pub(crate) use edit::{add, change};
pub use loaded::{IntentFileProblem, IntentFileState, LoadedIntents};
pub(crate) use loaded::{ProblemSeverity, TextPosition};
pub(crate) use store::{TEMPLATE, create, read_text, replace_checked, update};
pub use validate::is_valid_id;

/// The largest file that is read: 500 intents with 20 globs each are below a tenth of it.
pub(crate) const LIMIT_BYTES: u64 = 8 * 1024 * 1024;

/// Reads the file of a workspace.
#[must_use]
pub(crate) fn load(layout: &OrchestrationLayout) -> LoadedIntents {
    let file = match files::open(layout.intents_file()) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return LoadedIntents { state: IntentFileState::Absent, intents: Vec::new(), problems: Vec::new() };
        }
        Err(error) => {
            return LoadedIntents::malformed(TextPosition::START, format!("cannot read the file: {error}"), None);
        }
    };
    let mut bytes = Vec::new();
    match file.take(LIMIT_BYTES + 1).read_to_end(&mut bytes) {
        Ok(_) => parse_bytes(&bytes),
        Err(error) => LoadedIntents::malformed(TextPosition::START, format!("cannot read the file: {error}"), None),
    }
}

/// Parses and validates the content of the file.
#[must_use]
pub(crate) fn parse_bytes(bytes: &[u8]) -> LoadedIntents {
    if bytes.len() as u64 > LIMIT_BYTES {
        return LoadedIntents::malformed(
            TextPosition::START,
            format!("the file is larger than {LIMIT_BYTES} bytes"),
            None,
        );
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok());
            let message = "invalid UTF-8 from here on";
            LoadedIntents::malformed(end_of(before.unwrap_or_default()), message, Some("save the file as UTF-8"))
        }
    }
}

/// Parses and validates the text of the file.
#[must_use]
pub(crate) fn parse(text: &str) -> LoadedIntents {
    let text = text.strip_prefix(edit::BYTE_ORDER_MARK).unwrap_or(text);
    match yaml_tree::read(text) {
        Ok(root) => validate::validate(root.as_ref(), &is_time),
        Err(error) => LoadedIntents::malformed(error.position, error.message, None),
    }
}

fn is_time(text: &str) -> bool {
    parse_rfc3339(text).is_some()
}

fn end_of(text: &str) -> TextPosition {
    let last = text.rsplit('\n').next().unwrap_or_default();
    TextPosition { line: text.matches('\n').count() + 1, column: last.chars().count() + 1 }
}

#[cfg(test)]
mod tests;
