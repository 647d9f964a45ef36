//! Facts about calls that have no bound on what they touch or how long they run; the policy is the guard's.
//!
//! Pure.

use serde::Serialize;

/// In which way a call has no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UnboundedKind {
    /// Removes a folder and everything below it.
    RecursiveDelete,
    /// Changes everything below a folder.
    RecursiveChange,
    /// Walks through everything below a folder with no limit on depth.
    RecursiveTraversal,
    /// Does not end by itself.
    Endless,
    /// Starts copies of itself without end.
    ForkBomb,
    /// Writes over a whole device.
    DeviceWrite,
}

/// One call without a bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnboundedCall {
    /// In which way.
    pub what: UnboundedKind,
    /// The folder, or the program that does not end. A pattern is as written; empty if not known.
    pub target: String,
}
