//! What a check of the graph database found, and how the session's state keeps it.
//!
//! Pure.

use serde_json::{Value, json};

use super::error::Neo4jError;

/// The section of `config.json` that switches the check on.
pub(crate) const SECTION: &str = "neo4j";

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeReport {
    /// Whether the server answered with a version of Bolt; with TLS, whether a port is open.
    pub reachable: bool,
    /// The version of the protocol that the server chose, such as `Bolt/5.4`.
    pub version: Option<String>,
    /// Why the database is not reachable, or what was not checked.
    pub note: Option<String>,
}

impl ProbeReport {
    pub(super) fn failed(error: &Neo4jError) -> Self {
        Self { reachable: false, version: None, note: Some(error.to_string()) }
    }

    /// The result as a patch of the state. `stamp_ms` is the time of the check; without one the result counts
    /// for now, and the next event checks again.
    #[must_use]
    pub fn patch(&self, stamp_ms: Option<i64>) -> Value {
        patch(true, self.reachable, self.version.as_deref(), stamp_ms)
    }
}

/// What the state keeps of the database.
pub(super) fn patch(enabled: bool, reachable: bool, version: Option<&str>, stamp_ms: Option<i64>) -> Value {
    let found = json!({
        "enabled": enabled, "reachable": reachable, "schemaVersion": version, "lastCheckTs": stamp_ms,
    });
    json!({ "cap": { SECTION: found } })
}
