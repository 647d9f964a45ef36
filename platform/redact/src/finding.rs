//! What was found and where, without the secret itself.
//!
//! Pure.

use std::ops::Range;

/// One secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<'r> {
    /// The name of the built-in or user pattern.
    pub kind: &'r str,
    /// The bytes of the text that would be replaced.
    pub range: Range<usize>,
}
