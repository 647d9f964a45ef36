//! A model server that was found on this machine, and the names of the providers.
//!
//! Pure.

use dispatch_contracts::provider::ModelInfo;
use serde::Serialize;

/// The provider that speaks with servers.
pub const OPENAI_COMPAT: &str = "openai-compat";

/// The provider that needs no server: it answers by rule and calls the tools.
pub const REHEARSAL: &str = "rehearsal";

/// A model server on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LocalServer {
    /// What usually listens on its port.
    pub name: String,
    /// What to set `model.base_url` to.
    pub base_url: String,
    /// What it offers; empty when no model is loaded.
    pub models: Vec<ModelInfo>,
}
