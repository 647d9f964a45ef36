//! Faults: what an extension did wrong, counted against its budget and shown to the user.

use crate::ids::ExtensionId;
use serde::{Deserialize, Serialize};

/// What went wrong at an extension's boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// `activate` failed, panicked or did not return in time.
    Activation,
    /// A handler, filter, tool or job returned an error.
    Error,
    /// It panicked.
    Panic,
    /// It did not answer in time.
    Timeout,
    /// It fell behind so far that events had to be dropped.
    Overflow,
}

/// One fault of one extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Whose fault it is.
    pub extension: ExtensionId,
    /// The hook, tool, job or phase in which it happened.
    pub place: String,
    /// What kind of fault.
    pub kind: FaultKind,
    /// One sentence for the user, without payloads.
    pub message: String,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "extension `{}` in {}: {}", self.extension, self.place, self.message)
    }
}

/// How many faults within how long a standard or external extension may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultBudget {
    /// Reaching this many disables the extension.
    pub faults: u32,
    /// Only faults this recent count.
    pub window_ms: u64,
}

impl Default for FaultBudget {
    fn default() -> Self {
        Self { faults: 3, window_ms: 10 * 60 * 1000 }
    }
}

/// An extension that was switched off, and why; kept until it is switched on again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disabled {
    /// Which one.
    pub extension: ExtensionId,
    /// Why, for the user.
    pub reason: String,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
    /// The filters it had joined; those that fail closed stay shut until it is enabled again or removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
}
