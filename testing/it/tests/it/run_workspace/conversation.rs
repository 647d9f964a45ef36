//! What a history and a request say, in a form that checks can ask.

use dispatch_contracts::conversation::{Chunk, Message, ResultStatus, Role};
use serde_json::Value;
use std::collections::BTreeMap;

/// Everything that anybody said.
pub(crate) fn said(history: &[Message]) -> String {
    let chunks = history.iter().flat_map(|message| &message.chunks);
    let texts = chunks.filter_map(|chunk| match chunk {
        Chunk::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// How often a text is in what people said.
pub(crate) fn times_asked(history: &[Message], text: &str) -> usize {
    let people = history.iter().filter(|message| message.role != Role::Assistant);
    people.map(|message| said(std::slice::from_ref(message)).matches(text).count()).sum()
}

/// How often a text is in what the model said.
pub(crate) fn times_answered(history: &[Message], text: &str) -> usize {
    let replies = history.iter().filter(|message| message.role == Role::Assistant);
    replies.map(|message| said(std::slice::from_ref(message)).matches(text).count()).sum()
}

/// Every result: its call and its text.
pub(crate) fn call_texts(history: &[Message]) -> Vec<(String, String)> {
    let results = history.iter().flat_map(Message::results);
    results.map(|result| (result.call.to_string(), result.text.clone())).collect()
}

/// Every call with its command and how it ended.
pub(crate) fn calls(history: &[Message]) -> Vec<(String, ResultStatus)> {
    let status: BTreeMap<_, _> =
        history.iter().flat_map(Message::results).map(|result| (result.call.clone(), result.status)).collect();
    let calls = history.iter().flat_map(Message::calls);
    calls.map(|call| (call.arguments["command"].as_str().unwrap_or_default().to_owned(), status[&call.id])).collect()
}

/// The results in a request, by call.
pub(crate) fn results(request: &Value) -> BTreeMap<String, String> {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let tools = messages.into_iter().filter(|message| message["role"] == "tool");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    tools.map(|message| (text(&message["tool_call_id"]), text(&message["content"]))).collect()
}
