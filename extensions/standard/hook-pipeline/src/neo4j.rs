//! Whether the graph database answers: checked rarely, in bounded time, and never before a tool call.

mod address;
mod bolt;
mod freshness;
mod packstream;
mod probe;
mod settings;
mod wire;

#[cfg(test)]
pub(crate) mod tests;

use std::io;

use serde_json::{Value, json};

pub use freshness::{FRESH_MS, Step, patience, step};
pub use probe::check;
pub use settings::is_configured;

/// The section of `config.json` that switches the check on.
pub const SECTION: &str = "neo4j";

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Whether the database can be used, as far as it was asked.
    pub reachable: bool,
    /// What it says it is, such as `Neo4j/5.26.0`; without a login, the protocol, such as `Bolt/5.4`.
    pub version: Option<String>,
    /// What people should know: why it cannot be used, or how little was asked.
    pub note: Option<String>,
}

impl Report {
    fn failed(error: &Neo4jError) -> Self {
        Self { reachable: false, version: None, note: Some(error.to_string()) }
    }

    /// The result as a patch of the state. `stamp_ms` is when it was asked; without one the result counts
    /// for now, and the next event asks again.
    #[must_use]
    pub fn patch(&self, stamp_ms: Option<i64>) -> Value {
        patch(true, self.reachable, self.version.as_deref(), stamp_ms)
    }
}

fn patch(enabled: bool, reachable: bool, version: Option<&str>, stamp_ms: Option<i64>) -> Value {
    let found = json!({
        "enabled": enabled, "reachable": reachable, "schemaVersion": version, "lastCheckTs": stamp_ms,
    });
    json!({ "cap": { SECTION: found } })
}

/// Why the database cannot be used. Holds neither a password nor words of a server that could echo one.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Neo4jError {
    #[error("its section of the configuration is not usable: {0}")]
    Settings(String),
    #[error("its section of the configuration holds a password; name a variable in `passwordEnv` instead")]
    PasswordInFile,
    #[error("the variable `{0}` that `passwordEnv` names is not set")]
    NoPassword(String),
    #[error("its address is not usable: {0}")]
    Address(&'static str),
    #[error("its name could not be looked up in time")]
    Unresolved,
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    #[error("this build looks no names up; give an address such as 127.0.0.1")]
    NamesUnsupported,
    #[error("it could not be connected to: {}", .0.kind())]
    Connect(io::Error),
    #[error("it did not answer in time")]
    TimedOut,
    #[error("it closed the connection")]
    Closed,
    #[error("the connection broke: {}", .0.kind())]
    Broken(io::Error),
    #[error("it speaks HTTP; the address must name its Bolt port, 7687 unless it was changed")]
    Http,
    #[error("it does not speak Bolt")]
    NotBolt,
    #[error("it speaks no version of Bolt from 4.0 to 5.8")]
    NoCommonVersion,
    #[error("it answered with something that is not Bolt: {0}")]
    Malformed(&'static str),
    #[error("it refused: {0}")]
    Refused(String),
}
