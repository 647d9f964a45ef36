//! What the scripted model asks an agent for.
//!
//! Pure.

use serde_json::Value;

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelStep {
    /// A call of a tool with arguments.
    Call {
        /// The tool's name.
        tool: String,
        /// Its arguments.
        arguments: Value,
    },
    /// A call of a tool that takes bare text.
    FreeForm {
        /// The tool's name.
        tool: String,
        /// The text.
        input: String,
    },
    /// Words, which end the turn.
    Words(String),
}

impl ModelStep {
    /// A call with arguments.
    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::Call { tool: tool.to_owned(), arguments }
    }

    /// The tool that a request has to offer for this step.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::Call { tool, .. } | Self::FreeForm { tool, .. } => Some(tool),
            Self::Words(_) => None,
        }
    }
}
