//! Anthropic messages.
//!
//! Pure.

use super::{StreamEvent, items, plain};
use crate::step::ModelStep;
use serde_json::{Value, json};

pub(super) fn results(body: &Value) -> Vec<String> {
    let blocks = items(&body["messages"]).flat_map(|message| items(&message["content"]));
    blocks.filter(|block| block["type"] == "tool_result").map(|block| plain(&block["content"])).collect()
}

pub(super) fn reply(step: &ModelStep, number: usize, body: &Value) -> Value {
    let mut whole = head(number, body);
    whole["content"] = json!([block(step, number)]);
    whole["stop_reason"] = json!(stop(step));
    whole
}

pub(super) fn events(step: &ModelStep, number: usize, body: &Value) -> Vec<StreamEvent> {
    let mut empty = block(step, number);
    let delta = match step {
        ModelStep::Words(words) => {
            empty["text"] = json!("");
            json!({ "type": "text_delta", "text": words })
        }
        _ => {
            let arguments = empty["input"].to_string();
            empty["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": arguments })
        }
    };
    let stopped = json!({ "stop_reason": stop(step), "stop_sequence": null });
    let found = [
        ("message_start", json!({ "message": head(number, body) })),
        ("content_block_start", json!({ "index": 0, "content_block": empty })),
        ("content_block_delta", json!({ "index": 0, "delta": delta })),
        ("content_block_stop", json!({ "index": 0 })),
        ("message_delta", json!({ "delta": stopped, "usage": { "output_tokens": 3 } })),
        ("message_stop", json!({})),
    ];
    let named = found.into_iter().map(|(kind, mut fields)| {
        fields["type"] = json!(kind);
        (Some(kind), fields.to_string())
    });
    named.collect()
}

fn head(number: usize, body: &Value) -> Value {
    json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 10, "output_tokens": 3 },
    })
}

fn block(step: &ModelStep, number: usize) -> Value {
    match step {
        ModelStep::Words(words) => json!({ "type": "text", "text": words }),
        ModelStep::Call { tool, arguments } => {
            json!({ "type": "tool_use", "id": format!("toolu_{number:06}"), "name": tool, "input": arguments })
        }
        ModelStep::FreeForm { tool, input } => {
            json!({ "type": "tool_use", "id": format!("toolu_{number:06}"), "name": tool, "input": { "input": input } })
        }
    }
}

fn stop(step: &ModelStep) -> &'static str {
    if step.tool().is_some() { "tool_use" } else { "end_turn" }
}
