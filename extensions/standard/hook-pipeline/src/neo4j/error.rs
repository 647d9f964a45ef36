//! Why the graph database is not reachable.
//!
//! Pure.

use std::io;
use std::time::Duration;

/// Why the database is not reachable. Holds nothing of the section's values: one could be a password in the wrong
/// place.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Neo4jError {
    #[error("invalid section `neo4j`: its keys are `url`, `user` and `passwordEnv`, each a string")]
    Settings,
    #[error("invalid section `neo4j`: remove the key `password`; a password does not belong in this file")]
    PasswordInFile,
    #[error("invalid `url`: {0}")]
    Address(&'static str),
    #[error("cannot resolve the host name: {}", .0.kind())]
    LookUp(#[source] io::Error),
    #[error("this build cannot resolve host names; use an IP address such as 127.0.0.1")]
    NamesUnsupported,
    #[error("cannot connect: {}", .0.kind())]
    Connect(#[source] io::Error),
    #[error("timed out after {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("the server closed the connection")]
    Closed,
    #[error("the connection failed: {}", .0.kind())]
    Broken(#[source] io::Error),
    #[error("the server speaks HTTP; `url` must name its Bolt port (7687 by default)")]
    Http,
    #[error("the server does not speak Bolt")]
    NotBolt,
    #[error("the server supports none of the Bolt versions 4.0 to 5.8")]
    NoCommonVersion,
}
