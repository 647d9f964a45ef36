//! What an agent asked its model.
//!
//! Pure.

use serde_json::Value;

/// One request of an agent to its model.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The tools that it offers.
    pub offered: Vec<String>,
    /// What the model is told about its calls so far.
    pub results: Vec<String>,
    /// The tool that the script wanted and the request does not offer.
    pub not_offered: Option<String>,
    /// The whole request.
    pub body: Value,
}
