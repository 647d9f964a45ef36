//! Answers in the shapes that OpenAI's clients read.
//!
//! Pure.

use dispatch_contracts::conversation::RowBody;
use dispatch_contracts::provider::{Finish, Usage};
use dispatch_contracts::turn::TurnEnd;
use ext_conversation_store::contract::TurnLog;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// What all chunks of one answer have in common.
#[derive(Clone, Debug)]
pub(crate) struct ChatFrame {
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    /// Whether the client wants to know what it cost.
    pub(crate) include_usage: bool,
}

impl ChatFrame {
    /// The chunk with the role.
    pub(crate) fn opening(&self) -> Value {
        self.chunk(json!({"role": "assistant", "content": ""}), None)
    }

    pub(crate) fn text(&self, text: &str) -> Value {
        self.chunk(json!({"content": text}), None)
    }

    pub(crate) fn thought(&self, text: &str) -> Value {
        self.chunk(json!({"reasoning_content": text}), None)
    }

    pub(crate) fn closing(&self, reason: ChatFinishReason) -> Value {
        self.chunk(json!({}), Some(reason))
    }

    /// The chunk with the usage; it has no choice in it.
    pub(crate) fn cost(&self, used: Usage) -> Value {
        let mut chunk = self.chunk(json!({}), None);
        chunk["choices"] = json!([]);
        chunk["usage"] = json!(ChatUsage::from(used));
        chunk
    }

    fn chunk(&self, delta: Value, reason: Option<ChatFinishReason>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason});
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [choice],
        });
        if self.include_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }
}

/// A whole answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ChatCompletion {
    id: String,
    #[schemars(extend("const" = "chat.completion"))]
    object: &'static str,
    /// When it was made, in Unix seconds.
    created: u64,
    model: String,
    choices: [ChatChoice; 1],
    usage: ChatUsage,
}

#[derive(Serialize, JsonSchema)]
struct ChatChoice {
    index: u32,
    message: ChatReplyMessage,
    logprobs: (),
    finish_reason: ChatFinishReason,
}

#[derive(Serialize, JsonSchema)]
struct ChatReplyMessage {
    #[schemars(extend("const" = "assistant"))]
    role: &'static str,
    content: String,
    refusal: (),
}

#[derive(Serialize, JsonSchema)]
struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptTokensDetails,
    completion_tokens_details: CompletionTokensDetails,
}

#[derive(Serialize, JsonSchema)]
struct PromptTokensDetails {
    cached_tokens: u64,
}

#[derive(Serialize, JsonSchema)]
struct CompletionTokensDetails {
    reasoning_tokens: u64,
}

/// Why the reply ended, in OpenAI's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChatFinishReason {
    Stop,
    Length,
    ContentFilter,
}

impl ChatCompletion {
    pub(crate) fn new(frame: &ChatFrame, text: &str, finish_reason: ChatFinishReason, used: Usage) -> Self {
        let message = ChatReplyMessage { role: "assistant", content: text.to_owned(), refusal: () };
        Self {
            id: frame.id.clone(),
            object: "chat.completion",
            created: frame.created,
            model: frame.model.clone(),
            choices: [ChatChoice { index: 0, message, logprobs: (), finish_reason }],
            usage: used.into(),
        }
    }
}

impl From<Usage> for ChatUsage {
    fn from(used: Usage) -> Self {
        Self {
            prompt_tokens: used.input_tokens,
            completion_tokens: used.output_tokens,
            total_tokens: used.input_tokens.saturating_add(used.output_tokens),
            prompt_tokens_details: PromptTokensDetails { cached_tokens: used.cached_input_tokens },
            completion_tokens_details: CompletionTokensDetails { reasoning_tokens: used.reasoning_tokens },
        }
    }
}

/// Why the reply of a turn ended.
pub(crate) fn finish_reason(log: Option<&TurnLog>) -> ChatFinishReason {
    let Some(log) = log else { return ChatFinishReason::Stop };
    if matches!(log.turn.end, Some(TurnEnd::LimitReached { .. })) {
        return ChatFinishReason::Length;
    }
    let last = log.rows.iter().rev().find_map(|stored| match &stored.row.body {
        RowBody::StepEnded { finish, .. } => Some(*finish),
        _ => None,
    });
    match last {
        Some(Finish::Length) => ChatFinishReason::Length,
        Some(Finish::Filtered) => ChatFinishReason::ContentFilter,
        Some(Finish::Stop | Finish::ToolCalls) | None => ChatFinishReason::Stop,
    }
}
