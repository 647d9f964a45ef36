//! Messages of a history as messages of the chat protocol.
//!
//! Pure.

use crate::reasoning::{DETAILS, given_back};
use crate::tool_names::ToolNames;
use dispatch_contracts::conversation::{Chunk, Image, Message, ResultStatus, Role, ToolCall, ToolResult};
use dispatch_contracts::provider::ModelRequest;
use serde_json::{Map, Value, json};

/// Whether a message belongs to the turn that is going on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageAge {
    Present,
    Past,
}

/// The system prompt and the whole history.
pub(super) fn messages(request: &ModelRequest, names: &ToolNames) -> Vec<Value> {
    let mut written = Vec::new();
    let system: Vec<&str> = request.system.iter().map(|section| section.trim()).filter(|it| !it.is_empty()).collect();
    if !system.is_empty() {
        // One message, because many chat templates refuse a second one.
        written.push(json!({ "role": "system", "content": system.join("\n\n") }));
    }
    let last_user = request.messages.iter().rposition(|message| message.role == Role::User);
    for (at, message) in request.messages.iter().enumerate() {
        let age = if last_user.is_none_or(|last| at > last) { MessageAge::Present } else { MessageAge::Past };
        match message.role {
            Role::User => written.push(json!({ "role": "user", "content": content(&message.chunks) })),
            Role::Assistant => written.push(assistant(message, age, names)),
            Role::Tool => written.extend(tool(message)),
        }
    }
    written
}

/// Plain text where there is nothing else: every server takes that.
fn content(chunks: &[Chunk]) -> Value {
    let has_images = chunks.iter().any(|chunk| matches!(chunk, Chunk::Image(_)));
    if !has_images {
        return Value::from(text_of(chunks));
    }
    let part = |chunk: &Chunk| match chunk {
        Chunk::Text { text } => Some(json!({ "type": "text", "text": text })),
        Chunk::Image(image) => Some(image_part(image)),
        _ => None,
    };
    chunks.iter().filter_map(part).collect()
}

fn assistant(message: &Message, age: MessageAge, names: &ToolNames) -> Value {
    let mut written = Map::new();
    written.insert("role".to_owned(), json!("assistant"));
    let text = text_of(&message.chunks);
    written.insert("content".to_owned(), if text.is_empty() { Value::Null } else { Value::from(text) });
    reasoning(&message.chunks, age, &mut written);
    let calls: Vec<Value> = message.calls().map(|call| written_call(call, names)).collect();
    if !calls.is_empty() {
        written.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Value::Object(written)
}

/// Sealed reasoning always goes back. Plain reasoning goes back only while its turn lasts: models that
/// think between tool calls need it there, and older ones refuse it anywhere else.
fn reasoning(chunks: &[Chunk], age: MessageAge, written: &mut Map<String, Value>) {
    for chunk in chunks {
        let Chunk::Reasoning { text, signature } = chunk else { continue };
        let Some((field, value)) = given_back(text, signature.as_deref()) else { continue };
        if field != DETAILS && age == MessageAge::Past {
            continue;
        }
        match (written.get_mut(field), value) {
            (Some(Value::String(before)), Value::String(more)) => before.push_str(&more),
            (Some(Value::Array(before)), Value::Array(more)) => before.extend(more),
            (_, value) => {
                written.insert(field.to_owned(), value);
            }
        }
    }
}

fn written_call(call: &ToolCall, names: &ToolNames) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    let function = json!({ "name": names.theirs(&call.name), "arguments": arguments });
    json!({ "id": call.id.as_str(), "type": "function", "function": function })
}

/// The results one by one; pictures and steered text follow as the user's, because a tool message
/// takes text alone.
fn tool(message: &Message) -> Vec<Value> {
    let mut written: Vec<Value> = message.results().map(written_result).collect();
    let mut more: Vec<Chunk> = Vec::new();
    for result in message.results().filter(|result| !result.images.is_empty()) {
        more.push(Chunk::Text { text: format!("The pictures of the tool result {}:", result.call) });
        more.extend(result.images.iter().cloned().map(Chunk::Image));
    }
    more.extend(message.chunks.iter().filter(|chunk| matches!(chunk, Chunk::Text { .. })).cloned());
    if !more.is_empty() {
        written.push(json!({ "role": "user", "content": content(&more) }));
    }
    written
}

fn written_result(result: &ToolResult) -> Value {
    let status = match result.status {
        ResultStatus::Succeeded => "",
        ResultStatus::Failed => "[failed] ",
        ResultStatus::Denied => "[refused, did not run] ",
        ResultStatus::NotRun => "[did not run] ",
        ResultStatus::Unknown => "[outcome unknown: it may or may not have had its effect] ",
    };
    json!({ "role": "tool", "tool_call_id": result.call.as_str(), "content": format!("{status}{}", result.text) })
}

fn text_of(chunks: &[Chunk]) -> String {
    let text = |chunk: &Chunk| match chunk {
        Chunk::Text { text } => Some(text.clone()),
        _ => None,
    };
    chunks.iter().filter_map(text).collect::<Vec<_>>().join("\n\n")
}

fn image_part(image: &Image) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{};base64,{}", image.media_type, image.data) } })
}
