//! Answers in the shapes that OpenAI's clients read.

use dispatch_contracts::conversation::RowBody;
use dispatch_contracts::provider::{Finish, Usage};
use dispatch_contracts::turn::TurnEnd;
use ext_conversation_store::contract::TurnLog;
use serde_json::{Value, json};

/// What all pieces of one answer have in common.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    /// Whether the client wants to know what it cost.
    pub(crate) include_usage: bool,
}

impl Frame {
    /// The piece that says who speaks.
    pub(crate) fn opening(&self) -> Value {
        self.piece(json!({"role": "assistant", "content": ""}), None)
    }

    pub(crate) fn text(&self, text: &str) -> Value {
        self.piece(json!({"content": text}), None)
    }

    pub(crate) fn thought(&self, text: &str) -> Value {
        self.piece(json!({"reasoning_content": text}), None)
    }

    pub(crate) fn closing(&self, reason: &str) -> Value {
        self.piece(json!({}), Some(reason))
    }

    /// The piece with the cost; it has no choice in it.
    pub(crate) fn cost(&self, used: Usage) -> Value {
        let mut piece = self.piece(json!({}), None);
        piece["choices"] = json!([]);
        piece["usage"] = usage(used);
        piece
    }

    fn piece(&self, delta: Value, reason: Option<&str>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": reason});
        let mut piece = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [choice],
        });
        if self.include_usage {
            piece["usage"] = Value::Null;
        }
        piece
    }
}

/// A whole answer.
pub(crate) fn completion(frame: &Frame, text: &str, reason: &str, used: Usage) -> Value {
    let message = json!({"role": "assistant", "content": text, "refusal": null});
    json!({
        "id": frame.id,
        "object": "chat.completion",
        "created": frame.created,
        "model": frame.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": reason}],
        "usage": usage(used),
    })
}

fn usage(used: Usage) -> Value {
    json!({
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.input_tokens.saturating_add(used.output_tokens),
        "prompt_tokens_details": {"cached_tokens": used.cached_input_tokens},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning_tokens},
    })
}

/// Why the reply ended, in OpenAI's words.
pub(crate) fn finish_reason(log: Option<&TurnLog>) -> &'static str {
    let Some(log) = log else { return "stop" };
    if matches!(log.turn.end, Some(TurnEnd::LimitReached { .. })) {
        return "length";
    }
    let last = log.rows.iter().rev().find_map(|stored| match &stored.row.body {
        RowBody::StepEnded { finish, .. } => Some(*finish),
        _ => None,
    });
    match last {
        Some(Finish::Length) => "length",
        Some(Finish::Filtered) => "content_filter",
        Some(Finish::Stop | Finish::ToolCalls) | None => "stop",
    }
}
