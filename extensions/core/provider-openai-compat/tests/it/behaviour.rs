//! What a healthy call does, and how it is stopped.

use crate::host::{KEY, TestHostSetup, collect, question, text_of};
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::{Message, Role};
use dispatch_contracts::provider::{Finish, ModelEvent, ModelInfo, ProviderErrorKind};
use dispatch_support::{Reply, Script, ScriptedModel, Step};
use futures_util::StreamExt;
use serde_json::json;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(20);

/// Waits on another thread: this one must go on working for the connection to be closed.
async fn saw_close(model: ScriptedModel) -> bool {
    tokio::task::spawn_blocking(move || model.saw_close_within(LONG)).await.unwrap()
}

#[tokio::test]
async fn a_reply_streams_and_the_request_is_well_formed() {
    let model = ScriptedModel::playing([Reply::say("good morning to you")]);
    let setup = TestHostSetup::at(&model.base_url())
        .key_for(&model.base_url())
        .set("model.headers.X-Team", json!("blue"))
        .set("model.options.temperature", json!(0.5));
    let (events, error) = setup.boot().await.ask(question("hi")).await;
    assert_eq!(error, None);
    assert_eq!(text_of(&events), "good morning to you");
    assert_eq!(events.len(), 5, "word by word: {events:?}");
    assert_eq!(events.last(), Some(&ModelEvent::Finished { finish: Finish::Stop }));

    let requests = model.requests();
    let asked = &requests[0];
    assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(asked.header("x-team"), Some("blue"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    let body = asked.json();
    assert_eq!(
        body["messages"],
        json!([{ "role": "system", "content": "be kind" }, { "role": "user", "content": "hi" }])
    );
    assert_eq!((&body["temperature"], &body["stream"], &body["model"]), (&json!(0.5), &json!(true), &json!("m")));
}

#[tokio::test]
async fn a_call_comes_while_the_server_still_speaks() {
    let call = json!({ "choices": [{ "delta": { "tool_calls": [
        { "index": 0, "id": "c", "function": { "name": "read_file", "arguments": "{\"path\":\"a\"}" } },
    ] } }] });
    let steps = [Step::event(&call), Step::UntilClosedMs(20_000)];
    let model = ScriptedModel::playing([Reply::steps(steps)]);
    let host = TestHostSetup::at(&model.base_url()).boot().await;
    let mut stream = host.provider("openai-compat").stream(question("hi"), CancelToken::new());
    let first = tokio::time::timeout(LONG, stream.next()).await.unwrap();
    assert!(matches!(first, Some(Ok(ModelEvent::ToolCall { .. }))), "{first:?}");
    drop(stream);
    assert!(saw_close(model).await, "a stream that nobody reads is closed");
}

#[tokio::test]
async fn cancelling_closes_the_connection() {
    let model = ScriptedModel::playing([Reply::steps([Step::say("one"), Step::UntilClosedMs(20_000)])]);
    let host = TestHostSetup::at(&model.base_url()).boot().await;
    let cancel = CancelToken::new();
    let mut stream = host.provider("openai-compat").stream(question("hi"), cancel.clone());
    assert!(stream.next().await.unwrap().is_ok());
    let waiting = tokio::spawn(async move { stream.next().await });
    cancel.cancel();
    let ended = tokio::time::timeout(LONG, waiting).await.unwrap().unwrap();
    assert_eq!(ended.unwrap().unwrap_err().kind, ProviderErrorKind::Cancelled);
    assert!(saw_close(model).await, "the server sees the end of the connection");
}

#[tokio::test]
async fn cancelling_before_the_answer_closes_the_connection_too() {
    let silent = ScriptedModel::playing([Reply::steps([Step::UntilClosedMs(20_000)])]);
    let host = TestHostSetup::at(&silent.base_url()).boot().await;
    let cancel = CancelToken::new();
    let stream = host.provider("openai-compat").stream(question("hi"), cancel.clone());
    let waiting = tokio::spawn(collect(stream));
    let (seen, silent) =
        tokio::task::spawn_blocking(move || (silent.saw_requests_within(1, LONG), silent)).await.unwrap();
    assert!(seen);
    cancel.cancel();
    let (events, error) = tokio::time::timeout(LONG, waiting).await.unwrap().unwrap();
    assert_eq!((events, error.unwrap().kind), (vec![], ProviderErrorKind::Cancelled));
    assert!(saw_close(silent).await);
}

#[tokio::test]
async fn a_cancelled_token_sends_nothing() {
    let model = ScriptedModel::playing([Reply::say("never")]);
    let host = TestHostSetup::at(&model.base_url()).boot().await;
    let cancel = CancelToken::new();
    cancel.cancel();
    let (events, error) = collect(host.provider("openai-compat").stream(question("hi"), cancel)).await;
    assert_eq!((events, error.unwrap().kind), (vec![], ProviderErrorKind::Cancelled));
    assert_eq!(model.requests(), []);
}

#[tokio::test]
async fn models_are_listed() {
    let list = json!({ "data": [{ "id": "a", "context_length": 4096 }, { "id": "b" }] });
    let model = ScriptedModel::start(Script { models: Reply::json(200, &list), ..Script::default() });
    let host = TestHostSetup::at(&model.base_url()).key_for(&model.base_url()).in_real_time().boot().await;
    let found = host.provider("openai-compat").models().await.unwrap();
    let expected = |id: &str, context_tokens| ModelInfo { id: id.to_owned(), context_tokens };
    assert_eq!(found, [expected("a", Some(4096)), expected("b", None)]);
    assert!(model.requests()[0].header("authorization").is_some());
}

#[tokio::test]
async fn a_request_without_a_model_takes_the_first_on_offer() {
    let model = ScriptedModel::playing([Reply::say("hi")]);
    let host = TestHostSetup::at(&model.base_url()).in_real_time().boot().await;
    let mut request = question("hi");
    request.model = String::new();
    assert_eq!(host.ask(request).await.1, None);
    assert_eq!(model.requests().last().unwrap().json()["model"], "scripted");
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let whole = json!({ "choices": [{ "message": { "content": "all at once" }, "finish_reason": "stop" }] });
    let model = ScriptedModel::playing([Reply::json(200, &whole)]);
    let (events, error) = TestHostSetup::at(&model.base_url()).boot().await.ask(question("hi")).await;
    assert_eq!((text_of(&events).as_str(), error), ("all at once", None));
}

#[tokio::test]
async fn ten_megabytes_in_one_delta() {
    let large = "x".repeat(10 * 1024 * 1024);
    let chunk = json!({ "choices": [{ "delta": { "content": large }, "finish_reason": "stop" }] });
    let model = ScriptedModel::playing([Reply::events([chunk])]);
    let (events, error) = TestHostSetup::at(&model.base_url()).boot().await.ask(question("hi")).await;
    assert_eq!((text_of(&events).len(), error), (large.len(), None));
}

#[tokio::test]
async fn bytes_cut_anywhere_and_no_done() {
    let text = "Grüße 🦀";
    let chunk = json!({ "choices": [{ "delta": { "content": text }, "finish_reason": "stop" }] });
    let model = ScriptedModel::playing([Reply::steps([Step::ByteByByte(format!("data: {chunk}\r\n\r\n"))])]);
    let (events, error) = TestHostSetup::at(&model.base_url()).boot().await.ask(question("hi")).await;
    assert_eq!((text_of(&events).as_str(), error), (text, None));
}

#[tokio::test]
async fn the_rehearsal_needs_no_server() {
    let host = TestHostSetup::default().boot().await;
    let rehearsal = host.provider("rehearsal");
    let (events, error) = collect(rehearsal.stream(question("hello"), CancelToken::new())).await;
    assert_eq!(error, None);
    assert!(text_of(&events).starts_with("rehearsal: no model is configured"), "{events:?}");
    assert!(events.len() > 10, "word by word");
    let mut later = question("x");
    later.messages.extend([Message::text(Role::Assistant, "y"), Message::text(Role::User, "what did I say before?")]);
    let (events, _) = collect(rehearsal.stream(later, CancelToken::new())).await;
    assert!(text_of(&events).contains("Before this you said: \"x\""), "{events:?}");
    let cancel = CancelToken::new();
    let mut stream = rehearsal.stream(question("hello"), cancel.clone());
    assert!(stream.next().await.unwrap().is_ok());
    cancel.cancel();
    assert_eq!(stream.next().await.unwrap().unwrap_err().kind, ProviderErrorKind::Cancelled);
    assert!(stream.next().await.is_none());
}
