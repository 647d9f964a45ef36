//! Gemini `generateContent`.
//!
//! Pure.

use super::items;
use crate::step::ModelStep;
use serde_json::{Value, json};

pub(super) fn results(body: &Value) -> Vec<String> {
    let parts = items(&body["contents"]).flat_map(|content| items(&content["parts"]));
    parts.filter_map(|part| part.pointer("/functionResponse/response")).map(told).collect()
}

pub(super) fn reply(step: &ModelStep, body: &Value) -> Value {
    let part = match step {
        ModelStep::Call { tool, arguments } => json!({ "functionCall": { "name": tool, "args": arguments } }),
        ModelStep::FreeForm { tool, input } => json!({ "functionCall": { "name": tool, "args": { "input": input } } }),
        ModelStep::Words(_) if body["generationConfig"]["responseMimeType"] == "application/json" => {
            json!({ "text": side_answer().to_string() })
        }
        ModelStep::Words(words) => json!({ "text": words }),
    };
    let candidate = json!({ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0 });
    let usage = json!({ "promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 13 });
    json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted" })
}

fn told(response: &Value) -> String {
    let known = ["output", "error"].into_iter().find_map(|key| response[key].as_str());
    known.map_or_else(|| response.to_string(), str::to_owned)
}

/// What questions on the side (who speaks next, which model) accept as an answer.
fn side_answer() -> Value {
    json!({
        "reasoning": "", "next_speaker": "user", "model_choice": "pro", "complexity_score": 50,
        "complexity_reasoning": "",
    })
}
