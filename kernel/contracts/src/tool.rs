//! Tools: what a model may call.

mod target;

pub use target::targets;

use crate::BoxFuture;
use crate::cancel::CancelToken;
use crate::conversation::Image;
use crate::ids::{CallId, SessionId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// What a model is told about a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The name the model calls.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// Whether calls may overlap other calls when nothing else forbids it.
    pub concurrency_safe: bool,
}

/// What a call touches; calls that share a key never overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Resources {
    /// Not said: the call is exclusive, unless the tool is `concurrency_safe`.
    #[default]
    Undeclared,
    /// These keys and nothing else, for example `file:/a/b.rs`.
    Keys(Vec<String>),
}

/// What a call does, for calls without a rule: reading is allowed, changing is asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It looks and leaves everything as it was.
    Looks,
    /// It may change something, or its effect is unknown.
    #[default]
    Changes,
}

/// A stream that a tool prints on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Takes what a tool prints while it runs.
pub type OutputSink = Arc<dyn Fn(OutputStream, &[u8]) + Send + Sync>;

/// All that a tool may know of the world around its call.
#[derive(Clone)]
pub struct ToolContext {
    /// Which call this is.
    pub call_id: CallId,
    /// The conversation the call belongs to, for tools that remember something between calls.
    pub session: SessionId,
    /// The folder the call works in.
    pub workdir: PathBuf,
    /// Cancelled when the result is no longer wanted.
    pub cancel: CancelToken,
    /// Where live output goes.
    pub sink: OutputSink,
}

impl ToolContext {
    /// Shows output while the call runs; attributed to this call.
    pub fn output(&self, stream: OutputStream, bytes: &[u8]) {
        (self.sink)(stream, bytes);
    }

    /// Whether the call should stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// Pictures for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl ToolOutput {
    /// An answer of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), images: Vec::new() }
    }
}

/// Why a tool failed, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

/// The arguments of a call as a type; the error tells the model what was wrong with them.
///
/// # Errors
/// When a field is missing, of another type, or not known.
pub fn read_arguments<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, ToolError> {
    T::deserialize(Value::Object(arguments)).map_err(|error| {
        ToolError(format!("Invalid arguments: {error}. Nothing was done; correct them and call again."))
    })
}

/// A tool. `call` may run at the same time as other calls and keeps no ambient state.
pub trait Tool: Send + Sync {
    /// What the model is told.
    fn spec(&self) -> &ToolSpec;
    /// What a call with these arguments touches.
    fn resources(&self, _arguments: &Map<String, Value>) -> Resources {
        Resources::Undeclared
    }
    /// What a call with these arguments does to the world.
    fn effect(&self, _arguments: &Map<String, Value>) -> Effect {
        Effect::Changes
    }
    /// Runs the tool.
    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}
