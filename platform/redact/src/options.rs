//! What a caller may choose: user patterns, an allow-list, and what stands in place of a secret.
//!
//! Pure.

use serde::Deserialize;
use std::fmt;

use crate::fingerprint::FingerprintKey;

/// How a [`crate::Redactor`] is made.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether the built-in patterns are looked for.
    pub builtin: Builtin,
    /// The user's patterns.
    pub patterns: Vec<UserPattern>,
    /// What is not redacted, although a pattern finds it.
    pub allowed: Vec<Allowed>,
    /// What stands in place of a secret.
    pub marker: Marker,
    /// When the user's patterns are compiled.
    pub compile: Compile,
}

/// Whether the built-in patterns are looked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Builtin {
    /// They are.
    #[default]
    On,
    /// Only the user's patterns count.
    Off,
}

/// When the user's patterns are compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Compile {
    /// When the redactor is made, so that a bad pattern is an error.
    #[default]
    Now,
    /// When a text is first looked at that holds one of the pattern's keywords, for a process
    /// that must start fast. A pattern that turns out to be bad withholds the whole text.
    WhenNeeded,
}

/// A pattern of the user.
#[derive(Debug, Clone, Deserialize)]
pub struct UserPattern {
    /// How findings and errors call it.
    pub name: String,
    /// A regular expression without look-around; classes such as `\d` and `\w` are ASCII.
    ///
    /// If it has a group named `secret`, else a first group, only that group is replaced.
    pub regex: String,
    /// The pattern is tried only on a text with one of these; on every text if there are none.
    #[serde(skip)]
    pub keywords: Vec<String>,
}

impl UserPattern {
    /// A pattern that is tried on every text.
    pub fn new(name: impl Into<String>, regex: impl Into<String>) -> Self {
        Self { name: name.into(), regex: regex.into(), keywords: Vec::new() }
    }
}

/// Something that is not redacted; it is compared with what would be replaced.
#[derive(Clone)]
pub enum Allowed {
    /// Exactly this text.
    Exact(String),
    /// Anything this regular expression matches as a whole.
    Regex(String),
}

impl fmt::Debug for Allowed {
    /// An exact entry may well be a real credential, so its text is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(_) => f.write_str("Exact(..)"),
            Self::Regex(regex) => f.debug_tuple("Regex").field(regex).finish(),
        }
    }
}

/// What stands in place of a secret.
#[derive(Debug, Clone, Default)]
pub enum Marker {
    /// `[REDACTED]`
    #[default]
    Plain,
    /// `[REDACTED:9f3a1c2e]`: equal secrets get equal fingerprints.
    Fingerprint(FingerprintKey),
}
