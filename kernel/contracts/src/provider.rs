//! Model providers: a request in, a stream of events out.

use crate::cancel::CancelToken;
use crate::conversation::Message;
use crate::tool::ToolSpec;
use crate::{BoxFuture, BoxStream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The model's name, as the provider knows it.
    pub model: String,
    /// The system prompt, in sections.
    pub system: Vec<String>,
    /// A valid history.
    pub messages: Vec<Message>,
    /// The tools the model may call.
    pub tools: Vec<ToolSpec>,
    /// Further options, as the provider names them.
    #[serde(default)]
    pub options: Map<String, Value>,
}

/// What a model streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModelEvent {
    /// More text.
    TextDelta {
        /// The text.
        text: String,
    },
    /// More reasoning.
    ReasoningDelta {
        /// The text.
        text: String,
    },
    /// The seal of the reasoning so far.
    ReasoningSealed {
        /// Sent back unchanged.
        signature: String,
    },
    /// A complete tool call; its arguments are the raw text.
    ToolCall {
        /// The provider's id; may be empty or repeated, the turn loop makes it unique.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments as the model wrote them.
        arguments: String,
    },
    /// What the call cost so far; the last one counts.
    Usage(Usage),
    /// The model stopped. Nothing follows; a stream that ends without it broke.
    Finished {
        /// Why.
        finish: Finish,
    },
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Stop,
    /// It wants its tool calls answered.
    ToolCalls,
    /// It ran into its output limit.
    Length,
    /// The provider refused the content.
    Filtered,
}

/// Tokens of one or more model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase")]
pub struct Usage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Of those, read from the provider's cache.
    pub cached_input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Of those, spent on reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Adds another call's usage; a counter that is full stays full.
    pub fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_input_tokens = self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}

/// What kind of failure a provider had; decides whether another try makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProviderErrorKind {
    /// The credential was missing or refused.
    Auth,
    /// Too many requests.
    RateLimited,
    /// The server is overloaded or broken.
    Unavailable,
    /// The history does not fit the model.
    ContextLength,
    /// The server refused the request.
    InvalidRequest,
    /// The connection failed.
    Network,
    /// The server went silent.
    Timeout,
    /// The stream made no sense or stopped early.
    BrokenStream,
    /// It was cancelled.
    Cancelled,
}

/// A provider's failure, in words without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct ProviderError {
    /// What kind.
    pub kind: ProviderErrorKind,
    /// What to tell a person.
    pub message: String,
    /// When the server says another try may work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ProviderError {
    /// An error with no advice on when to try again.
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_ms: None }
    }
}

/// A model that a provider offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The name to put into a request.
    pub id: String,
    /// How many tokens fit, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
}

/// The items of a provider's stream.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ProviderError>>;

/// A source of model replies.
pub trait Provider: Send + Sync {
    /// Starts a model call. Cancelling closes the connection and ends the stream.
    fn stream(&self, request: ModelRequest, cancel: CancelToken) -> ModelStream;
    /// The models on offer.
    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>>;
}
