//! OpenAI chat completions.
//!
//! Pure.

use super::{StreamEvent, items, name_of, plain};
use crate::step::ModelStep;
use serde_json::{Value, json};

pub(super) fn tool_name(tool: &Value) -> Option<String> {
    [&tool["function"], &tool["custom"], tool].into_iter().find_map(name_of)
}

pub(super) fn results(body: &Value) -> Vec<String> {
    items(&body["messages"]).filter(|message| message["role"] == "tool").map(|one| plain(&one["content"])).collect()
}

pub(super) fn reply(step: &ModelStep, number: usize, body: &Value) -> Value {
    let message = match step {
        ModelStep::Words(words) => json!({ "role": "assistant", "content": words }),
        _ => json!({ "role": "assistant", "content": null, "tool_calls": [call(step, number)] }),
    };
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish(step) });
    let mut whole = head(number, body, "chat.completion");
    whole["choices"] = json!([choice]);
    whole["usage"] = usage();
    whole
}

pub(super) fn events(step: &ModelStep, number: usize, body: &Value) -> Vec<StreamEvent> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let mut chunk = head(number, body, "chat.completion.chunk");
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        (None, chunk.to_string())
    };
    let content = match step {
        ModelStep::Words(words) => json!({ "content": words }),
        _ => {
            let mut call = call(step, number);
            call["index"] = json!(0);
            json!({ "tool_calls": [call] })
        }
    };
    let mut last = head(number, body, "chat.completion.chunk");
    last["choices"] = json!([]);
    last["usage"] = usage();
    vec![
        chunk(json!({ "role": "assistant", "content": "" }), None),
        chunk(content, None),
        chunk(json!({}), Some(finish(step))),
        (None, last.to_string()),
        (None, "[DONE]".to_owned()),
    ]
}

fn head(number: usize, body: &Value, object: &str) -> Value {
    json!({ "id": format!("chat{number}"), "object": object, "created": 1, "model": body["model"] })
}

fn usage() -> Value {
    json!({ "prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13 })
}

fn call(step: &ModelStep, number: usize) -> Value {
    let id = format!("call_{number}");
    match step {
        ModelStep::FreeForm { tool, input } => {
            json!({ "id": id, "type": "custom", "custom": { "name": tool, "input": input } })
        }
        ModelStep::Call { tool, arguments } => {
            json!({ "id": id, "type": "function", "function": { "name": tool, "arguments": arguments.to_string() } })
        }
        ModelStep::Words(_) => Value::Null,
    }
}

fn finish(step: &ModelStep) -> &'static str {
    if step.tool().is_some() { "tool_calls" } else { "stop" }
}
