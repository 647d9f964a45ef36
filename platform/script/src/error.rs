//! One error type for everything a script can do wrong, so that a caller can show where and why.
//!
//! Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest message kept; a script chooses its own messages.
pub(crate) const MAX_MESSAGE_BYTES: usize = 4 * 1024;
/// Most stack frames kept.
pub(crate) const MAX_FRAMES: usize = 32;

/// Why a script did not give its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The JavaScript does not parse.
    Syntax,
    /// The TypeScript does not parse, or uses what cannot be compiled away.
    TypeScript,
    /// The script threw, or rejected.
    Thrown,
    /// The time budget ran out.
    Deadline,
    /// The memory limit was reached.
    Memory,
    /// The stack limit was reached.
    Stack,
    /// The awaited promise can never settle: nothing is left to run.
    NeverSettles,
    /// An import was refused or could not be loaded.
    Import,
    /// A size or count limit was reached: source, value, nesting, imports.
    Limit,
    /// The named export or method does not exist or is not a function.
    Missing,
    /// The engine itself failed, or was already stopped at a deadline.
    Engine,
    /// The child process died while it ran the script.
    WorkerCrashed,
    /// No child process can be had at the moment.
    WorkerUnavailable,
    /// The caller did not want the answer any more, so the child process was killed.
    Cancelled,
}

impl ErrorKind {
    fn label(self) -> &'static str {
        match self {
            Self::Syntax => "syntax error",
            Self::TypeScript => "TypeScript error",
            Self::Thrown => "script failed",
            Self::Deadline => "time budget exceeded",
            Self::Memory => "memory limit reached",
            Self::Stack => "stack limit reached",
            Self::NeverSettles => "promise never settles",
            Self::Import => "import failed",
            Self::Limit => "limit reached",
            Self::Missing => "missing export",
            Self::Engine => "engine failed",
            Self::WorkerCrashed => "script worker crashed",
            Self::WorkerUnavailable => "script worker unavailable",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.label())
    }
}

/// A place in a source as its author wrote it; line and column count from one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The function, when it has a name.
    pub function: Option<String>,
    /// The name the source was loaded under.
    pub file: String,
    /// Line in the original source.
    pub line: u32,
    /// Column in the original source, in UTF-16 units.
    pub column: u32,
}

impl fmt::Display for Frame {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, file, line, column } = self;
        match function {
            Some(function) => write!(formatter, "{function} ({file}:{line}:{column})"),
            None => write!(formatter, "{file}:{line}:{column}"),
        }
    }
}

/// What went wrong in a script, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{kind}: {message}{}", StackSuffix(.stack))]
pub struct ScriptError {
    /// The cause.
    pub kind: ErrorKind,
    /// What the script or the engine says about it.
    pub message: String,
    /// What the author can do, when that is known.
    pub hint: Option<String>,
    /// Where, innermost first, in original positions. Empty when no position is known.
    pub stack: Vec<Frame>,
}

impl ScriptError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        cut(&mut message, MAX_MESSAGE_BYTES);
        Self { kind, message, hint: None, stack: Vec::new() }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn at(mut self, file: &str, line: u32, column: u32) -> Self {
        self.stack = vec![Frame { function: None, file: file.to_owned(), line, column }];
        self
    }

    /// The innermost known place.
    pub fn location(&self) -> Option<&Frame> {
        self.stack.first()
    }
}

struct StackSuffix<'a>(&'a [Frame]);

impl fmt::Display for StackSuffix<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.first() {
            Some(Frame { file, line, column, .. }) => write!(formatter, " at {file}:{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// Shortens `text` to at most `max` bytes, at a character boundary; says whether it did.
pub(crate) fn cut(text: &mut String, max: usize) -> bool {
    if text.len() <= max {
        return false;
    }
    text.truncate(text.floor_char_boundary(max));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_keeps_whole_characters() {
        let mut text = "aé€".to_owned();
        assert!(cut(&mut text, 4));
        assert_eq!(text, "aé");
        assert!(!cut(&mut text, 4));
    }

    #[test]
    fn text_names_kind_and_place() {
        let error = ScriptError::new(ErrorKind::Thrown, "no").at("a.ts", 3, 7);
        assert_eq!(error.to_string(), "script failed: no at a.ts:3:7");
    }
}
