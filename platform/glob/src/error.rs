//! Why a pattern is refused.

use std::error::Error;
use std::fmt;

/// What is wrong with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobError {
    /// The pattern is longer than the limit.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The braces stand for more patterns, or more text, than the limit.
    TooManyAlternatives,
    /// The braces are nested deeper than the limit.
    TooDeep,
}

impl fmt::Display for GlobError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(formatter, "the pattern has {bytes} bytes; at most {} are allowed", crate::MAX_PATTERN_BYTES)
            }
            Self::TooManyAlternatives => formatter.write_str("the braces of the pattern stand for too many patterns"),
            Self::TooDeep => formatter.write_str("the braces or groups of the pattern are nested too deeply"),
        }
    }
}

impl Error for GlobError {}
