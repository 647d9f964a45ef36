//! What is known of optional services, read from the state and never found out on the hot path.

use serde::{Deserialize, Serialize};

/// Optional services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Capabilities {
    /// The graph database.
    pub neo4j: Neo4jCapability,
}

/// What the last check of the graph database found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Neo4jCapability {
    /// Whether it is configured.
    pub enabled: bool,
    /// Whether it answered.
    pub reachable: bool,
    /// The version it told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<String>,
    /// When it was asked, in Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_check_ts: Option<i64>,
}
