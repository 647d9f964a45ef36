//! What can be wrong with the options of a redactor; no text here ever holds a secret.
//!
//! Pure.

use crate::limits::{MAX_ALLOWED, MAX_USER_PATTERN_BYTES, MAX_USER_PATTERN_COMPILED_BYTES, MAX_USER_PATTERNS};

/// Why a [`crate::Redactor`] could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// More user patterns than [`MAX_USER_PATTERNS`].
    #[error("{count} redaction patterns are configured; at most {MAX_USER_PATTERNS} are allowed")]
    TooManyPatterns {
        /// How many were given.
        count: usize,
    },
    /// More allow-list entries than [`MAX_ALLOWED`].
    #[error("{count} allow-list entries are configured; at most {MAX_ALLOWED} are allowed")]
    TooManyAllowed {
        /// How many were given.
        count: usize,
    },
    /// The source of a pattern is longer than [`MAX_USER_PATTERN_BYTES`].
    #[error("redaction pattern `{name}` is {bytes} bytes long; at most {MAX_USER_PATTERN_BYTES} are allowed")]
    PatternTooLong {
        /// The name of the pattern.
        name: String,
        /// How long it is.
        bytes: usize,
    },
    /// The compiled pattern needs more than [`MAX_USER_PATTERN_COMPILED_BYTES`].
    #[error("redaction pattern `{name}` compiles to more than {MAX_USER_PATTERN_COMPILED_BYTES} bytes")]
    PatternTooBig {
        /// The name of the pattern.
        name: String,
    },
    /// The pattern is not a regular expression this crate can run.
    #[error("redaction pattern `{name}` is not a valid regular expression: {source}")]
    InvalidPattern {
        /// The name of the pattern.
        name: String,
        /// What is wrong with it.
        #[source]
        source: regex::Error,
    },
}
