//! Chat completions as OpenAI's clients ask for them.

use crate::client::ServerSentEvent;
use crate::server::{PATIENCE, TestServer};
use dispatch_support::{Reply, Step};
use serde_json::{Value, json};

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn pieces(body: &str) -> Vec<ServerSentEvent> {
    let blocks = body.split("\n\n").filter(|block| block.starts_with("data: "));
    blocks
        .map(|block| ServerSentEvent { data: block["data: ".len()..].to_owned(), ..ServerSentEvent::default() })
        .collect()
}

#[test]
fn a_whole_answer() {
    let server = TestServer::playing([Reply::say("Hello there.")]);
    let body = json!({"model": "dispatch", "messages": [user("hi")], "user": "main"});
    let answer = server.client().post("/v1/chat/completions", &body).expect(200);
    assert_eq!(answer.header("x-dispatch-session"), Some("main"));
    let said = answer.json();
    assert_eq!(said["object"], "chat.completion");
    assert_eq!(said["choices"][0]["message"], json!({"role": "assistant", "content": "Hello there.", "refusal": null}));
    assert_eq!(said["choices"][0]["finish_reason"], "stop");
    assert!(said["usage"]["total_tokens"].is_u64());
    let history = server.client().get("/v1/sessions/main/messages").expect(200).json();
    assert_eq!(history["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn an_answer_in_pieces() {
    let call = Reply::call(&[("c1", "write_file", json!({"path": "out.txt", "content": "made"}))]);
    let server = TestServer::playing([call, Reply::say("It is done.")]);
    let body = json!({
        "model": "dispatch", "messages": [user("write")], "stream": true, "stream_options": {"include_usage": true},
    });
    let headers = [("Content-Type", "application/json"), ("X-Dispatch-Ask", "all"), ("X-Dispatch-Session", "s")];
    let answer =
        server.client().request("POST", "/v1/chat/completions", &headers, body.to_string().as_bytes()).expect(200);
    let pieces = pieces(&answer.body);
    assert_eq!(pieces.last().unwrap().data, "[DONE]");
    let chunks: Vec<Value> = pieces[..pieces.len() - 1].iter().map(ServerSentEvent::json).collect();
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let text: String = chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "It is done.");
    let reasons: Vec<&str> = chunks.iter().filter_map(|chunk| chunk["choices"][0]["finish_reason"].as_str()).collect();
    assert_eq!(reasons, ["stop"]);
    let cost = chunks.last().unwrap();
    assert_eq!(cost["choices"], json!([]));
    assert!(cost["usage"]["prompt_tokens"].is_u64());
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"] && chunk["object"] == "chat.completion.chunk"));
    assert_eq!(std::fs::read_to_string(server.workdir().join("out.txt")).unwrap(), "made");
}

#[test]
fn a_client_that_sends_everything_goes_on_in_its_session() {
    let server = TestServer::playing([Reply::say("One."), Reply::say("Two."), Reply::say("Other.")]);
    let ask = |messages: Value| {
        let answer = server.client().post("/v1/chat/completions", &json!({"messages": messages})).expect(200);
        let text = answer.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        (answer.header("x-dispatch-session").unwrap().to_owned(), text)
    };
    let (first, one) = ask(json!([user("a")]));
    let branch = json!([user("a"), {"role": "assistant", "content": one}, user("b")]);
    let (second, _) = ask(branch.clone());
    assert_eq!(first, second);
    let (third, _) = ask(branch);
    assert_ne!(first, third, "a second branch is a session of its own");
    let told = server.model.requests().last().unwrap().body.to_string();
    assert!(told.contains("You said") && told.contains("One."), "{told}");
}

#[test]
fn a_client_that_leaves_stops_the_turn() {
    let server = TestServer::playing([Reply::steps([Step::say("Thinking "), Step::UntilClosedMs(60_000)])]);
    let body = json!({"messages": [user("hi")], "stream": true}).to_string();
    let headers = [("Content-Type", "application/json")];
    let stream = server.client().send("POST", "/v1/chat/completions", &headers, body.as_bytes());
    assert!(server.model.saw_requests_within(1, PATIENCE));
    drop(stream);
    assert!(server.model.saw_close_within(PATIENCE), "the model is let go");
}

#[test]
fn failures_have_a_status_and_words() {
    let server = TestServer::playing([]);
    let failed = server.client().post("/v1/chat/completions", &json!({"messages": [user("hi")]})).expect(502);
    assert_eq!(failed.code(), "provider_failed");
    let streamed = server.client().post("/v1/chat/completions", &json!({"messages": [user("hi")], "stream": true}));
    let last = pieces(&streamed.expect(200).body).pop().unwrap().json();
    assert_eq!(last["error"]["code"], "provider_failed", "{last}");
    let models = server.client().get("/v1/models").expect(200).json();
    let ids: Vec<&str> = models["data"].as_array().unwrap().iter().filter_map(|model| model["id"].as_str()).collect();
    assert!(ids.contains(&"dispatch") && ids.contains(&"openai-compat/scripted"), "{ids:?}");
}
