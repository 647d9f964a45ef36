//! Chunks as servers send them, and the events they make.

use super::*;
use serde_json::json;

fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta }] })
}

fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta { text: text.to_owned() }
}

fn finished(finish: Finish) -> ModelEvent {
    ModelEvent::Finished { finish }
}

/// The events of a stream that ends without `[DONE]`, with the error at the end if there is one.
fn reduce(chunks: &[Value]) -> (Vec<ModelEvent>, Option<ProviderError>) {
    let mut reducer = ReplyReducer::default();
    let mut events = Vec::new();
    for chunk in chunks {
        match reducer.push("", &chunk.to_string()) {
            Ok(more) => events.extend(more),
            Err(error) => return (events, Some(error)),
        }
    }
    match reducer.end() {
        Ok(more) => events.extend(more),
        Err(error) => return (events, Some(error)),
    }
    (events, None)
}

fn check(chunks: &[Value], expected: &[ModelEvent]) {
    assert_eq!(reduce(chunks), (expected.to_vec(), None));
}

#[test]
fn text_arrives_as_it_comes() {
    check(
        &[
            delta(json!({ "role": "assistant", "content": "" })),
            delta(json!({ "content": "a" })),
            delta(json!({ "content": "b" })),
            finish("stop"),
        ],
        &[text("a"), text("b"), finished(Finish::Stop)],
    );
}

#[test]
fn content_may_be_a_list_of_parts() {
    let parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }, { "type": "text", "text": "a" }]);
    let thought = ModelEvent::ReasoningDelta { text: "hm".to_owned() };
    check(&[delta(json!({ "content": parts })), finish("stop")], &[thought, text("a"), finished(Finish::Stop)]);
}

#[test]
fn a_refusal_is_text() {
    check(&[delta(json!({ "refusal": "no" })), finish("stop")], &[text("no"), finished(Finish::Stop)]);
}

#[test]
fn usage_in_the_last_chunk_counts() {
    let usage = json!({
        "choices": [],
        "usage": {
            "prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": { "cached_tokens": 4 },
            "completion_tokens_details": { "reasoning_tokens": 2 },
        },
    });
    let counted = Usage { input_tokens: 10, cached_input_tokens: 4, output_tokens: 5, reasoning_tokens: 2 };
    check(
        &[delta(json!({ "content": "a" })), finish("stop"), usage],
        &[text("a"), ModelEvent::Usage(counted), finished(Finish::Stop)],
    );
    let odd = json!({ "choices": [], "usage": { "prompt_tokens": 3.0, "completion_tokens": null, "prompt_tokens_details": null } });
    let counted = Usage { input_tokens: 3, ..Usage::default() };
    check(&[finish("stop"), odd, json!({ "usage": null })], &[ModelEvent::Usage(counted), finished(Finish::Stop)]);
}

#[test]
fn reasoning_is_sealed_when_something_else_follows() {
    let seal = ModelEvent::ReasoningSealed { signature: json!({ "field": "reasoning_content" }).to_string() };
    check(
        &[
            delta(json!({ "reasoning_content": "hm", "content": null })),
            delta(json!({ "content": "a" })),
            finish("stop"),
        ],
        &[ModelEvent::ReasoningDelta { text: "hm".to_owned() }, seal, text("a"), finished(Finish::Stop)],
    );
}

#[test]
fn a_call_is_told_before_the_model_stops() {
    let call =
        json!({ "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "a", "arguments": "{\"x\":1}" } }] });
    let mut reducer = ReplyReducer::default();
    let told = reducer.push("", &delta(call).to_string()).unwrap();
    let expected = ModelEvent::ToolCall { id: "c".to_owned(), name: "a".to_owned(), arguments: "{\"x\":1}".to_owned() };
    assert_eq!(told, [expected]);
    assert_eq!(reducer.push("", &finish("stop").to_string()).unwrap(), []);
    assert_eq!(reducer.push("", "[DONE]").unwrap(), [finished(Finish::ToolCalls)], "whatever the server calls it");
}

#[test]
fn the_old_function_call_works() {
    let chunks = [
        delta(json!({ "function_call": { "name": "a", "arguments": "" } })),
        delta(json!({ "function_call": { "arguments": "{\"x\":" } })),
        delta(json!({ "function_call": { "arguments": "1}" } })),
        finish("function_call"),
    ];
    let call = ModelEvent::ToolCall { id: String::new(), name: "a".to_owned(), arguments: "{\"x\":1}".to_owned() };
    check(&chunks, &[call, finished(Finish::ToolCalls)]);
}

#[test]
fn reasons_to_stop() {
    for (reason, expected) in [
        ("stop", Finish::Stop),
        ("eos", Finish::Stop),
        ("tool_calls", Finish::Stop),
        ("length", Finish::Length),
        ("max_tokens", Finish::Length),
        ("content_filter", Finish::Filtered),
        ("something new", Finish::Stop),
    ] {
        check(&[delta(json!({ "content": "a" })), finish(reason)], &[text("a"), finished(expected)]);
    }
    for reason in ["error", "insufficient_system_resource"] {
        let (_, error) = reduce(&[finish(reason)]);
        assert_eq!(error.map(|error| error.kind), Some(ProviderErrorKind::Unavailable), "{reason}");
    }
}

#[test]
fn nothing_follows_the_end() {
    let mut reducer = ReplyReducer::default();
    reducer.push("", &delta(json!({ "content": "a" })).to_string()).unwrap();
    assert_eq!(reducer.push("", "[DONE]").unwrap(), [finished(Finish::Stop)]);
    assert_eq!(reducer.push("", "[DONE]").unwrap(), []);
    assert_eq!(reducer.push("", &delta(json!({ "content": "b" })).to_string()).unwrap(), []);
    assert_eq!(reducer.end().unwrap(), []);
}

#[test]
fn a_stream_that_stops_early_is_broken_and_loses_nothing_complete() {
    let (events, error) = reduce(&[delta(json!({ "content": "a" }))]);
    assert_eq!(events, [text("a")]);
    let error = error.unwrap();
    assert_eq!(error.kind, ProviderErrorKind::BrokenStream);
    assert!(error.message.contains("in the middle"), "{error}");
    let half =
        json!({ "tool_calls": [{ "index": 0, "id": "c", "function": { "name": "a", "arguments": "{\"x\":" } }] });
    let (events, error) = reduce(&[delta(half)]);
    assert_eq!((events, error.unwrap().kind), (vec![], ProviderErrorKind::BrokenStream), "half a call is no call");
    assert_eq!(reduce(&[]).1.unwrap().kind, ProviderErrorKind::BrokenStream);
    assert_eq!(ReplyReducer::default().push("", "[DONE]").unwrap_err().kind, ProviderErrorKind::BrokenStream);
}

#[test]
fn unknown_chunks_and_other_choices_are_passed_over() {
    let other = json!({ "choices": [{ "index": 1, "delta": { "content": "no" } }] });
    check(
        &[
            json!({ "type": "ping" }),
            json!([]),
            json!(7),
            Value::Null,
            json!({ "choices": {} }),
            json!({ "choices": [null, 3] }),
            other,
            delta(json!({ "content": "a" })),
            finish("stop"),
        ],
        &[text("a"), finished(Finish::Stop)],
    );
}

#[test]
fn errors_inside_the_stream_end_it() {
    for (name, data) in [
        ("", json!({ "error": { "message": "Overloaded", "code": 503 } }).to_string()),
        ("error", json!({ "message": "Overloaded", "code": 503 }).to_string()),
        ("error", "Overloaded".to_owned()),
        ("", json!({ "choices": [{ "index": 0, "error": { "message": "Overloaded", "code": 502 } }] }).to_string()),
    ] {
        let error = ReplyReducer::default().push(name, &data).unwrap_err();
        assert_eq!(error.kind, ProviderErrorKind::Unavailable, "{data}");
        assert!(error.message.contains("Overloaded"), "{error}");
    }
}

#[test]
fn names_find_their_way_back() {
    let tool = dispatch_contracts::tool::ToolSpec {
        name: "mcp.git/log".to_owned(),
        description: String::new(),
        parameters: json!({}),
        concurrency_safe: true,
    };
    let mut reducer = ReplyReducer::new(ToolNames::new(&[tool]), Vec::new());
    let call =
        json!({ "tool_calls": [{ "id": "c", "function": { "name": "mcp_git_log", "arguments": "{\"x\":1}" } }] });
    let told = reducer.push("", &delta(call).to_string()).unwrap();
    assert!(matches!(&told[..], [ModelEvent::ToolCall { name, .. }] if name == "mcp.git/log"), "{told:?}");
}
