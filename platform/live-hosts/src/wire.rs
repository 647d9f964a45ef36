//! The four protocols in which agents speak to their models; the path of a request says which one it is.
//!
//! Pure.

mod chat;
mod gemini;
mod messages;
mod responses;

use crate::step::ModelStep;
use serde_json::{Value, json};

/// One protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireProtocol {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI responses.
    Responses,
    /// Anthropic messages.
    Messages,
    /// Gemini `generateContent`.
    Gemini,
}

/// One server-sent event: its name, where the protocol has names, and its data.
pub(crate) type StreamEvent = (Option<&'static str>, String);

impl WireProtocol {
    /// The protocol of a path without its query.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let ends = [
            ("/chat/completions", Self::Chat),
            ("/responses", Self::Responses),
            ("/messages", Self::Messages),
            ("enerateContent", Self::Gemini),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, protocol)| protocol)
    }

    /// Whether the reply is a stream of events.
    pub(crate) fn is_streamed(self, path: &str, body: &Value) -> bool {
        match self {
            Self::Gemini => path.contains(":stream"),
            Self::Chat | Self::Responses | Self::Messages => body["stream"] == true,
        }
    }

    /// The names of the tools that a request offers.
    pub(crate) fn offered(self, body: &Value) -> Vec<String> {
        let tools = items(&body["tools"]);
        match self {
            Self::Chat => tools.filter_map(chat::tool_name).collect(),
            Self::Responses => tools.filter_map(|tool| name_of(tool).or_else(|| text(&tool["type"]))).collect(),
            Self::Messages => tools.filter_map(name_of).collect(),
            Self::Gemini => tools.flat_map(|group| items(&group["functionDeclarations"])).filter_map(name_of).collect(),
        }
    }

    /// What the model was told about each call so far, in order.
    pub(crate) fn results(self, body: &Value) -> Vec<String> {
        match self {
            Self::Chat => chat::results(body),
            Self::Responses => responses::results(body),
            Self::Messages => messages::results(body),
            Self::Gemini => gemini::results(body),
        }
    }

    /// The whole reply.
    pub(crate) fn reply(self, step: &ModelStep, number: usize, body: &Value) -> Value {
        match self {
            Self::Chat => chat::reply(step, number, body),
            Self::Responses => responses::reply(step, number, body),
            Self::Messages => messages::reply(step, number, body),
            Self::Gemini => gemini::reply(step, body),
        }
    }

    /// The reply as a stream.
    pub(crate) fn events(self, step: &ModelStep, number: usize, body: &Value) -> Vec<StreamEvent> {
        match self {
            Self::Chat => chat::events(step, number, body),
            Self::Responses => responses::events(step, number, body),
            Self::Messages => messages::events(step, number, body),
            Self::Gemini => vec![(None, gemini::reply(step, body).to_string())],
        }
    }
}

/// What a request for the list of models is answered with, in every shape that agents look for.
pub(crate) fn model_list(path: &str) -> Value {
    let gemini = json!({
        "name": "models/scripted", "inputTokenLimit": 1_000_000, "outputTokenLimit": 8192,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
    });
    if path.contains("/models/") {
        return gemini;
    }
    let model = json!({
        "id": "scripted", "object": "model", "type": "model", "created": 1, "owned_by": "scripted",
        "display_name": "scripted",
    });
    json!({ "object": "list", "data": [model], "models": [gemini], "has_more": false })
}

/// The answer to anything else, such as a count of tokens.
pub(crate) fn token_count() -> Value {
    json!({ "input_tokens": 10, "totalTokens": 10 })
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn name_of(tool: &Value) -> Option<String> {
    text(&tool["name"])
}

/// The text in a tool result, whatever blocks it is wrapped in.
fn plain(content: &Value) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(plain).collect::<Vec<_>>().join("\n"),
        Value::Object(block) => match block.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => content.to_string(),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
