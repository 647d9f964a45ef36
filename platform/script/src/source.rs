//! Sources as callers hand them over: a name, a text, and the language the name says it is in.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cache::hex;
use crate::error::{ErrorKind, ScriptError};
use crate::limits::Limits;

/// The language of a source, told by its file extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `.js`, `.mjs`
    JavaScript,
    /// `.ts`, `.mts`
    TypeScript,
}

impl Language {
    /// The language of a file of this name, or nothing for an extension the engine refuses.
    pub fn of(name: &str) -> Option<Self> {
        let (stem, extension) = name.rsplit_once('.')?;
        match extension {
            _ if stem.is_empty() => None,
            "js" | "mjs" => Some(Self::JavaScript),
            "ts" | "mts" => Some(Self::TypeScript),
            _ => None,
        }
    }
}

/// One module: the name it is known and shown by, and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Shown in errors, the referrer of its imports, and (by its extension) the language.
    pub name: String,
    /// The text as it was written.
    pub text: String,
    /// The SHA-256 of the text, if the caller has computed it.
    #[serde(skip)]
    digest: Option<String>,
}

/// A module that comes with the one that imports it, so that nobody is asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentImport {
    /// As the importing module writes it.
    pub specifier: String,
    /// The name of the importing module.
    pub referrer: String,
    /// What it gets.
    pub source: Source,
}

impl Source {
    /// A source from a text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), digest: None }
    }

    /// The same, with the SHA-256 of the text (64 hexadecimal digits) by which compiled forms are found again.
    ///
    /// It is believed: a wrong one runs another text's compiled form. Without it the engine hashes for itself.
    #[must_use]
    pub fn with_digest(mut self, sha256: impl Into<String>) -> Self {
        self.digest = Some(sha256.into());
        self
    }

    /// What stands for the text in the key of a compiled form.
    pub(crate) fn digest(&self) -> String {
        self.digest.clone().unwrap_or_else(|| hex(&Sha256::digest(self.text.as_bytes())))
    }

    /// A source from the bytes of a file.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`] with the place of the first byte that is not UTF-8.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, ScriptError> {
        let name = name.into();
        String::from_utf8(bytes).map(|text| Self::new(name.clone(), text)).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let (before, _) = error.as_bytes().split_at(valid);
            let (line, column) = position(&String::from_utf8_lossy(before), valid);
            ScriptError::new(ErrorKind::Syntax, "the source is not valid UTF-8").at(&name, line, column)
        })
    }

    /// The text without a byte order mark, within `limits`, and free of NUL.
    pub(crate) fn checked_text(&self, limits: &Limits) -> Result<&str, ScriptError> {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(&self.text);
        if text.len() > limits.source_bytes {
            return Err(ScriptError::new(
                ErrorKind::Limit,
                format!(
                    "{} has {} bytes, more than the {} allowed for one source",
                    self.name,
                    text.len(),
                    limits.source_bytes
                ),
            ));
        }
        if let Some(offset) = text.bytes().position(|byte| byte == 0) {
            let (line, column) = position(text, offset);
            return Err(ScriptError::new(ErrorKind::Syntax, "the source contains a NUL character")
                .at(&self.name, line, column)
                .with_hint("write it as \\0 inside a string"));
        }
        Ok(text)
    }
}

/// Finds the sources that a script imports by a relative path.
///
/// Nothing is imported unless the caller's implementation loads it, so the implementation is where a path that leaves
/// the script's folder is refused.
pub trait ModuleSource {
    /// The source that `specifier` (it starts with `./` or `../`, unless packages are found too) means in the source named
    /// `referrer`.
    ///
    /// The returned name identifies the module: two specifiers with one returned name share one module.
    ///
    /// # Errors
    /// A reason, shown to the author of the script.
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String>;

    /// Whether it also finds what is imported by another name than a relative path.
    fn finds_packages(&self) -> bool {
        false
    }
}

/// Line and column, from one and in UTF-16 units, of a byte offset.
pub(crate) fn position(text: &str, offset: usize) -> (u32, u32) {
    let before = text.get(..text.floor_char_boundary(offset)).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|&byte| byte == b'\n').count();
    let column = before.get(line_start..).unwrap_or("").encode_utf16().count();
    (saturate(line + 1), saturate(column + 1))
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_told_by_extension() {
        let table = [
            ("a.js", Some(Language::JavaScript)),
            ("dir.x/a.mjs", Some(Language::JavaScript)),
            ("a.ts", Some(Language::TypeScript)),
            ("a.b.mts", Some(Language::TypeScript)),
            ("a.cjs", None),
            ("a.tsx", None),
            ("a.json", None),
            (".ts", None),
            ("ts", None),
            ("", None),
            ("a.TS", None),
        ];
        for (name, expected) in table {
            assert_eq!(Language::of(name), expected, "{name:?}");
        }
    }

    #[test]
    fn positions_count_lines_and_utf16_units() {
        let text = "ab\né𝒳x";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, 2), (1, 3));
        assert_eq!(position(text, 3), (2, 1));
        assert_eq!(position(text, text.len() - 1), (2, 4));
        assert_eq!(position(text, 10_000), (2, 5));
    }

    #[test]
    fn bytes_that_are_not_text_are_named_by_place() {
        let error = Source::from_bytes("a.js", b"let a;\nb\xff".to_vec()).unwrap_err();
        let at = error.location().unwrap();
        assert_eq!((error.kind, at.line, at.column), (ErrorKind::Syntax, 2, 2));
    }
}
