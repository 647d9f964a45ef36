//! Why a pattern is refused.
//!
//! Pure.

use std::error::Error;
use std::fmt;

use crate::braces::{MAX_ALTERNATIVES, MAX_EXPANDED_CHARS};
use crate::segment::MAX_DEPTH;

/// What is wrong with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlobError {
    /// The pattern is longer than the limit.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// The braces expand to more patterns, or more text, than the limit.
    TooManyAlternatives,
    /// The braces or groups are nested deeper than the limit.
    TooDeep,
}

impl fmt::Display for GlobError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(formatter, "the pattern has {bytes} bytes; at most {} are allowed", crate::MAX_PATTERN_BYTES)
            }
            Self::TooManyAlternatives => write!(
                formatter,
                "the braces of the pattern expand to more than {MAX_ALTERNATIVES} patterns or {MAX_EXPANDED_CHARS} characters"
            ),
            Self::TooDeep => {
                write!(formatter, "the braces or groups of the pattern are nested more than {MAX_DEPTH} levels deep")
            }
        }
    }
}

impl Error for GlobError {}
