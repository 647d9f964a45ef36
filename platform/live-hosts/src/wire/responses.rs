//! OpenAI responses.
//!
//! Pure.

use super::{StreamEvent, items, plain};
use crate::step::ModelStep;
use serde_json::{Value, json};

pub(super) fn results(body: &Value) -> Vec<String> {
    let is_result = |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_output"));
    items(&body["input"]).filter(is_result).map(|item| plain(&item["output"])).collect()
}

pub(super) fn reply(step: &ModelStep, number: usize, body: &Value) -> Value {
    let mut whole = head(number, body);
    whole["status"] = json!("completed");
    whole["output"] = json!([item(step, number)]);
    whole["usage"] = json!({
        "input_tokens": 10, "output_tokens": 3, "total_tokens": 13,
        "input_tokens_details": { "cached_tokens": 0 }, "output_tokens_details": { "reasoning_tokens": 0 },
    });
    whole
}

pub(super) fn events(step: &ModelStep, number: usize, body: &Value) -> Vec<StreamEvent> {
    let item = item(step, number);
    let mut found: Vec<(&'static str, Value)> = vec![("response.created", json!({ "response": head(number, body) }))];
    let started = |item: Value| ("response.output_item.added", json!({ "output_index": 0, "item": item }));
    let part = |fields: Value| {
        let mut all = json!({ "item_id": item["id"], "output_index": 0 });
        if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
            all.extend(fields);
        }
        all
    };
    match step {
        ModelStep::Words(words) => {
            let block = &item["content"][0];
            found.push(started(with(&item, "content", json!([]))));
            let empty = with(block, "text", json!(""));
            found.push(("response.content_part.added", part(json!({ "content_index": 0, "part": empty }))));
            found.push(("response.output_text.delta", part(json!({ "content_index": 0, "delta": words }))));
            found.push(("response.output_text.done", part(json!({ "content_index": 0, "text": words }))));
            found.push(("response.content_part.done", part(json!({ "content_index": 0, "part": block }))));
        }
        ModelStep::Call { .. } => {
            found.push(started(with(&item, "arguments", json!(""))));
            let arguments = &item["arguments"];
            found.push(("response.function_call_arguments.delta", part(json!({ "delta": arguments }))));
            found.push(("response.function_call_arguments.done", part(json!({ "arguments": arguments }))));
        }
        ModelStep::FreeForm { .. } => found.push(started(item.clone())),
    }
    found.push(("response.output_item.done", json!({ "output_index": 0, "item": item })));
    found.push(("response.completed", json!({ "response": reply(step, number, body) })));
    let numbered = found.into_iter().enumerate().map(|(at, (kind, fields))| {
        let data = with(&with(&fields, "type", json!(kind)), "sequence_number", json!(at));
        (Some(kind), data.to_string())
    });
    numbered.collect()
}

fn head(number: usize, body: &Value) -> Value {
    json!({
        "id": format!("resp_{number}"), "object": "response", "created_at": 1, "status": "in_progress",
        "model": body["model"], "output": [],
    })
}

fn item(step: &ModelStep, number: usize) -> Value {
    let call_id = format!("call_{number}");
    match step {
        ModelStep::Call { tool, arguments } => json!({
            "type": "function_call", "id": format!("fc_{number}"), "name": tool, "arguments": arguments.to_string(),
            "call_id": call_id, "status": "completed",
        }),
        ModelStep::FreeForm { tool, input } => json!({
            "type": "custom_tool_call", "id": format!("ctc_{number}"), "name": tool, "input": input,
            "call_id": call_id, "status": "completed",
        }),
        ModelStep::Words(words) => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": words, "annotations": [] }],
        }),
    }
}

fn with(value: &Value, key: &str, inner: Value) -> Value {
    let mut changed = value.clone();
    changed[key] = inner;
    changed
}
