//! What a user is told about each extension.

use dispatch_contracts::fault::Fault;
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::manifest::{Capability, Contributes, Tier, Trust};
use semver::Version;
use serde::{Deserialize, Serialize};

/// How an extension is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum ExtensionState {
    /// Its turn to start has not come, or it is starting.
    Starting,
    /// It runs.
    Active,
    /// It starts when a hook needs it.
    Lazy,
    /// It was switched off because it kept failing.
    Disabled {
        /// Why.
        reason: String,
    },
    /// It is in order, but something it needs is not.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It could not start.
    Failed {
        /// Why.
        reason: String,
    },
    /// It was stopped with the program.
    Stopped,
}

impl ExtensionState {
    /// Why an extension that depends on it cannot run; `None` when it works.
    pub(crate) fn obstacle(&self) -> Option<String> {
        match self {
            Self::Active | Self::Lazy => None,
            Self::Starting => Some("which has not started".to_owned()),
            Self::Disabled { reason } => Some(format!("which is disabled: {reason}")),
            Self::Skipped { reason } => Some(format!("which was skipped: {reason}")),
            Self::Failed { reason } => Some(format!("which failed to start: {reason}")),
            Self::Stopped => Some("which was stopped".to_owned()),
        }
    }

    /// Whether its faults still lead anywhere.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self, Self::Starting | Self::Active | Self::Lazy)
    }
}

/// One line of the list of extensions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Extension"))]
#[serde(rename_all = "camelCase")]
pub struct ExtensionStatus {
    /// Its id; made up from its place in the list when the manifest names none.
    pub id: ExtensionId,
    /// Where it was loaded from.
    pub origin: String,
    /// Its version, where the manifest could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub version: Option<Version>,
    /// Its tier, where the manifest could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// How far the loader trusts it.
    pub trust: Trust,
    /// How it is doing.
    #[serde(flatten)]
    pub state: ExtensionState,
    /// What its manifest declares.
    pub contributes: Contributes,
    /// The capabilities it has: declared and granted.
    pub granted: Vec<Capability>,
    /// How many faults it has had since the start.
    pub faults: u64,
    /// How many events it has lost since the start.
    pub dropped_events: u64,
    /// The latest fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fault: Option<Fault>,
}
