//! What goes wrong on the way, and when it is tried again.

use crate::host::{KEY, TestHostSetup, question, text_of};
use dispatch_contracts::provider::{ModelEvent, ProviderErrorKind};
use dispatch_support::{After, Reply, Script, ScriptedModel, Step};
use serde_json::json;

fn repeating(reply: Reply) -> ScriptedModel {
    ScriptedModel::start(Script { replies: vec![reply], after: After::RepeatLast, ..Script::default() })
}

fn refusal(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "error": { "message": message } }))
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_again_up_to_the_bound() {
    for (status, kind) in [(429, ProviderErrorKind::RateLimited), (503, ProviderErrorKind::Unavailable)] {
        let model = repeating(refusal(status, "later"));
        let host = TestHostSetup::at(&model.base_url()).boot().await;
        assert_eq!(host.fail().await.kind, kind);
        assert_eq!(model.requests().len(), 4);
        let waits = host.clock.waits.lock().unwrap().clone();
        assert_eq!(waits.len(), 3);
        assert!(waits.windows(2).all(|pair| pair[0] < pair[1]), "{waits:?}");
    }
}

#[tokio::test]
async fn a_later_try_that_works_is_all_that_is_seen() {
    let replies = [refusal(500, "oops"), Reply::steps([Step::Reset]), Reply::say("at last")];
    let model = ScriptedModel::playing(replies);
    let (events, error) = TestHostSetup::at(&model.base_url()).boot().await.ask(question("hi")).await;
    assert_eq!((text_of(&events).as_str(), error), ("at last", None));
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn the_server_says_how_long_to_wait() {
    let model = ScriptedModel::playing([refusal(429, "later").header("Retry-After", "7"), Reply::say("ok")]);
    let host = TestHostSetup::at(&model.base_url()).boot().await;
    assert_eq!(host.ask(question("hi")).await.1, None);
    let waits = host.clock.waits.lock().unwrap().clone();
    assert!(matches!(waits[..], [7_000..=8_750]), "{waits:?}");

    let model = repeating(refusal(429, "tomorrow").header("Retry-After", "86400"));
    let error = TestHostSetup::at(&model.base_url()).boot().await.fail().await;
    assert_eq!((error.retry_after_ms, model.requests().len()), (Some(86_400_000), 1), "too long to wait here");
}

#[tokio::test]
async fn what_cannot_get_better_is_tried_once() {
    for (reply, kind) in [
        (refusal(400, "bad"), ProviderErrorKind::InvalidRequest),
        (refusal(401, "no"), ProviderErrorKind::Auth),
        (refusal(404, "no such model"), ProviderErrorKind::InvalidRequest),
        (refusal(400, "This model's maximum context length is 5 tokens"), ProviderErrorKind::ContextLength),
        (Reply::html(200, "<html><title>Hello</title></html>"), ProviderErrorKind::InvalidRequest),
    ] {
        let model = repeating(reply);
        let error = TestHostSetup::at(&model.base_url()).boot().await.fail().await;
        assert_eq!((error.kind, model.requests().len()), (kind, 1), "{error}");
    }
}

#[tokio::test]
async fn success_with_an_error_body_is_an_error() {
    let body = json!({ "error": { "message": "model not loaded", "code": 400 } });
    let model = repeating(Reply::json(200, &body));
    let error = TestHostSetup::at(&model.base_url()).boot().await.fail().await;
    assert_eq!(error.kind, ProviderErrorKind::InvalidRequest);
    assert!(error.message.contains("model not loaded"), "{error}");
}

#[tokio::test]
async fn a_reset_in_the_middle_of_a_call_breaks_the_stream_and_is_not_repeated() {
    let half = json!({ "choices": [{ "delta": { "tool_calls": [
        { "index": 0, "id": "c", "function": { "name": "run_shell", "arguments": "{\"command\":\"rm" } },
    ] } }] });
    for end in [Step::Reset, Step::Cut] {
        let model = repeating(Reply::steps([Step::say("well"), Step::event(&half), Step::SleepMs(50), end]));
        let (events, error) = TestHostSetup::at(&model.base_url()).boot().await.ask(question("hi")).await;
        assert_eq!(events, [ModelEvent::TextDelta { text: "well".to_owned() }], "half a call is never told");
        assert_eq!(error.unwrap().kind, ProviderErrorKind::BrokenStream);
        assert_eq!(model.requests().len(), 1, "what was seen cannot be taken back");
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_comes_behind_what_was_said() {
    let error = json!({ "error": { "message": "Overloaded", "code": 503 } });
    let model = repeating(Reply::events([json!({ "choices": [{ "delta": { "content": "a" } }] }), error]));
    let (events, error) = TestHostSetup::at(&model.base_url()).boot().await.ask(question("hi")).await;
    assert_eq!((text_of(&events).as_str(), error.unwrap().kind), ("a", ProviderErrorKind::Unavailable));
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let model = repeating(Reply::steps([Step::say("a"), Step::UntilClosedMs(20_000)]));
    let setup = TestHostSetup::at(&model.base_url()).in_real_time();
    let setup = setup.set("extensions.provider-openai-compat.idle_timeout_ms", json!(200));
    let (events, error) = setup.boot().await.ask(question("hi")).await;
    assert_eq!((text_of(&events).as_str(), error.unwrap().kind), ("a", ProviderErrorKind::Timeout));
}

#[tokio::test]
async fn nobody_there_is_a_network_error_with_advice() {
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let error = TestHostSetup::at(&format!("http://127.0.0.1:{port}/v1")).boot().await.fail().await;
    assert_eq!(error.kind, ProviderErrorKind::Network);
    assert!(error.message.contains("is the server running?"), "{error}");
}

#[tokio::test]
async fn a_name_that_does_not_exist_and_a_server_without_encryption() {
    let unknown = TestHostSetup::at("http://no-such-host.invalid/v1").boot().await.fail().await;
    assert_eq!(unknown.kind, ProviderErrorKind::Network, "{unknown}");
    let plain = ScriptedModel::playing([]);
    let url = plain.base_url().replace("http://", "https://");
    let setup = TestHostSetup::at(&url).set("extensions.provider-openai-compat.attempts", json!(1));
    let error = setup.boot().await.fail().await;
    assert_eq!(error.kind, ProviderErrorKind::Network, "{error}");
}

#[tokio::test]
async fn the_key_is_in_no_error() {
    for reply in [
        refusal(401, &format!("Incorrect API key provided: {KEY}")),
        refusal(400, &format!("header Authorization: Bearer {KEY} is bad")),
        Reply::html(502, &format!("<html><title>{KEY}</title></html>")),
        Reply::json(200, &json!({ "error": format!("what is {KEY}?") })),
        Reply::steps([Step::Text(format!("data: not json {KEY}\n\n"))]),
    ] {
        let model = repeating(reply);
        let setup = TestHostSetup::at(&model.base_url()).key_for(&model.base_url());
        let error = setup.boot().await.fail().await;
        assert!(model.requests()[0].header("authorization").is_some_and(|sent| sent.contains(KEY)));
        assert!(!format!("{error} {error:?}").contains("canary-key"), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_usage_option_is_asked_without_it() {
    let model = ScriptedModel::playing([refusal(400, "Unrecognized field: stream_options"), Reply::say("fine")]);
    let (events, error) = TestHostSetup::at(&model.base_url()).boot().await.ask(question("hi")).await;
    assert_eq!((text_of(&events).as_str(), error), ("fine", None));
    let asked: Vec<bool> = model.requests().iter().map(|it| it.json().get("stream_options").is_some()).collect();
    assert_eq!(asked, [true, false]);
}

#[tokio::test]
async fn an_address_that_is_none_is_said() {
    let error = TestHostSetup::at("localhost:11434").boot().await.fail().await;
    assert_eq!(error.kind, ProviderErrorKind::InvalidRequest);
    assert!(error.message.contains("model.base_url"), "{error}");
}
