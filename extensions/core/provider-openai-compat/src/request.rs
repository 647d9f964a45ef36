//! Writes a model request as the chat protocol wants it.
//!
//! Pure.

mod history;

use crate::tool_names::ToolNames;
use dispatch_contracts::provider::ModelRequest;
use dispatch_contracts::tool::ToolSpec;
use serde_json::{Map, Value, json};

/// What options cannot change, because the rest of the call relies on it.
const FIXED: [&str; 4] = ["messages", "model", "stream", "tools"];

/// Asks for the token counts; a few servers do not know it.
pub(crate) const USAGE_OPTION: &str = "stream_options";

/// The body of a request. Options of the request win over those of the settings; a null takes an
/// option out.
pub(crate) fn body(request: &ModelRequest, settings: &Map<String, Value>, names: &ToolNames) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    body.insert("messages".to_owned(), Value::Array(history::messages(request, names)));
    body.insert("stream".to_owned(), json!(true));
    body.insert(USAGE_OPTION.to_owned(), json!({ "include_usage": true }));
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(|tool| function(tool, names)).collect());
    }
    for (name, value) in settings.iter().chain(&request.options) {
        if FIXED.contains(&name.as_str()) {
            continue;
        }
        if value.is_null() {
            body.shift_remove(name);
        } else {
            body.insert(name.clone(), value.clone());
        }
    }
    body
}

fn function(tool: &ToolSpec, names: &ToolNames) -> Value {
    let empty = || json!({ "type": "object", "properties": {} });
    let parameters = if tool.parameters.is_object() { tool.parameters.clone() } else { empty() };
    json!({
        "type": "function",
        "function": { "name": names.theirs(&tool.name), "description": tool.description, "parameters": parameters },
    })
}

#[cfg(test)]
mod tests;
