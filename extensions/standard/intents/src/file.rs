//! The file with the declared intents: the one place that reads, judges and edits it.

mod check;
mod edit;
mod scalar;
mod store;
mod surgery;
mod tree;

use std::fmt;
use std::io::Read;

use serde::Serialize;

use crate::intent::IntentSpec;
use crate::layout::Layout;

pub use check::is_valid_id;
pub use edit::{Change, EditError, ListField, TextField, add, change};
pub use store::{StoreError, TEMPLATE, create, read_text, replace_checked, update};

/// The largest file that is read: 500 intents with 20 globs each are below a tenth of it.
pub const LIMIT_BYTES: u64 = 8 * 1024 * 1024;
/// More problems than these are not told; a file with so many is of another kind.
const MAX_PROBLEMS: usize = 200;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Where something stands in the file, both from 1; the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The beginning of the file.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something in the file does not count.
    Error,
    /// Everything counts, but probably not as it is meant.
    Warning,
}

/// One thing that is wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What would help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = if self.severity == Severity::Warning { "warning: " } else { "" };
        write!(formatter, "{}:{}: {warning}{}", self.place.line, self.place.column, self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(formatter, " ({hint})"))
    }
}

/// What there was to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// No file, so nothing is asked of anybody.
    Absent,
    /// A file that says nothing that could be relied on.
    Malformed,
    /// A file; intents in it that cannot be relied on are left out.
    Read,
}

/// The file as far as it can be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// What there was to read.
    pub state: FileState,
    /// The intents, in the order of the file.
    pub intents: Vec<IntentSpec>,
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

impl Loaded {
    /// The intent with this id.
    #[must_use]
    pub fn intent(&self, id: &str) -> Option<&IntentSpec> {
        self.intents.iter().find(|intent| intent.id == id)
    }

    /// Whether something in the file does not count.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    fn malformed(place: Place, message: impl Into<String>, hint: Option<&str>) -> Self {
        let problem =
            Problem { place, severity: Severity::Error, message: message.into(), hint: hint.map(str::to_owned) };
        Self { state: FileState::Malformed, intents: Vec::new(), problems: vec![problem] }
    }
}

/// Reads the file of a workspace.
#[must_use]
pub fn load(layout: &Layout) -> Loaded {
    let file = match std::fs::File::open(layout.intents_file()) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Loaded { state: FileState::Absent, intents: Vec::new(), problems: Vec::new() };
        }
        Err(error) => return Loaded::malformed(Place::START, format!("it cannot be read: {error}"), None),
    };
    let mut bytes = Vec::new();
    match file.take(LIMIT_BYTES + 1).read_to_end(&mut bytes) {
        Ok(_) => parse_bytes(&bytes),
        Err(error) => Loaded::malformed(Place::START, format!("it cannot be read: {error}"), None),
    }
}

/// Judges the content of the file.
#[must_use]
pub fn parse_bytes(bytes: &[u8]) -> Loaded {
    if bytes.len() as u64 > LIMIT_BYTES {
        return Loaded::malformed(Place::START, format!("it has more than {LIMIT_BYTES} bytes"), None);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        Err(error) => {
            let before = bytes.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok());
            let message = "the bytes from here on are not UTF-8";
            Loaded::malformed(end_of(before.unwrap_or_default()), message, Some("save it as UTF-8"))
        }
    }
}

/// Judges the text of the file.
#[must_use]
pub fn parse(text: &str) -> Loaded {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    match tree::read(text) {
        Ok(root) => check::check(root.as_ref()),
        Err(fault) => Loaded::malformed(fault.place, fault.message, None),
    }
}

fn end_of(text: &str) -> Place {
    let last = text.rsplit('\n').next().unwrap_or_default();
    Place { line: text.matches('\n').count() + 1, column: last.chars().count() + 1 }
}

#[cfg(test)]
mod tests;
