//! A range of changed lines that no intent covers.
//!
//! Pure.

use serde::Serialize;

/// Lines that no intent covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct UncoveredLines {
    /// From the workspace's root.
    pub file: String,
    /// The first line, from 1.
    pub start: usize,
    /// The last line; equal to the first where lines were only removed.
    pub end: usize,
}
