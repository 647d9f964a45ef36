//! Messages and their chunks: what is sent to a model and shown to a person.

use crate::ids::CallId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The argument name under which argument text that is not a JSON object is kept.
pub const INVALID_ARGUMENTS: &str = "invalid_arguments";

/// Who speaks. The system prompt is not a message; it travels beside the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person, or a program in its place.
    User,
    /// The model.
    Assistant,
    /// The results of the calls in the message before, then any text steered in behind them.
    Tool,
}

/// One role's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub chunks: Vec<Chunk>,
}

impl Message {
    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, chunks: vec![Chunk::Text { text: text.into() }] }
    }

    /// The tool calls in this message, in model order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.chunks.iter().filter_map(|chunk| match chunk {
            Chunk::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The tool results in this message, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.chunks.iter().filter_map(|chunk| match chunk {
            Chunk::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

/// One piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Chunk {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// What the model thought before it spoke.
    Reasoning {
        /// The text.
        text: String,
        /// The provider's own seal, sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// A picture.
    Image(Image),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
}

impl Chunk {
    /// Whether a strict provider would refuse this chunk as empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text { text } => text.trim().is_empty(),
            Self::Reasoning { text, signature } => text.trim().is_empty() && signature.is_none(),
            Self::Image(image) => image.data.is_empty(),
            Self::ToolCall(_) | Self::ToolResult(_) => false,
        }
    }
}

/// A picture, as base64 text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Image {
    /// For example `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// The model's request to run a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// Unique within the history.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// Always an object: text that was none is kept under [`INVALID_ARGUMENTS`].
    pub arguments: Map<String, Value>,
}

/// How a call ended: it ran, it did not run, or its end is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It ran and succeeded.
    Succeeded,
    /// It ran and said that it failed.
    Failed,
    /// A guard refused it; it did not run.
    Denied,
    /// It did not run: unknown tool, bad arguments, cancelled before its start.
    NotRun,
    /// It was started and its end was not recorded: it may or may not have had its effect.
    Unknown,
}

/// The answer to one tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    /// The call that is answered.
    pub call: CallId,
    /// How it ended.
    pub status: ResultStatus,
    /// What the model reads; never empty.
    pub text: String,
    /// Pictures the tool made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}
