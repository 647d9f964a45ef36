//! Messages in and what becomes of them: durable receipts, the same id twice, cancelling, history, forks.

use crate::server::{PATIENCE, TestServer};
use dispatch_support::{After, Reply, Script, Step};
use serde_json::{Value, json};

#[test]
fn a_message_is_answered_and_the_conversation_can_be_read() {
    let server = TestServer::playing([Reply::say("Hello there."), Reply::say("Again.")]);
    let client = server.client();
    let view = server.say("main", "hi");
    assert_eq!((view["state"].as_str(), view["session"].as_str()), (Some("done"), Some("main")), "{view}");
    assert!(view["turn"].is_string());
    server.say("main", "more");
    let history = client.get("/v1/sessions/main/messages").expect(200).json();
    let said: Vec<String> = history["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            format!("{}: {}", message["role"].as_str().unwrap(), message["chunks"][0]["text"].as_str().unwrap())
        })
        .collect();
    assert_eq!(said, ["user: hi", "assistant: Hello there.", "user: more", "assistant: Again."]);
    let hits = client.get("/v1/search?q=there").expect(200).json();
    assert_eq!(hits["hits"][0]["label"], "main", "{hits}");
    assert_eq!(client.get("/v1/sessions/nobody/messages").expect(404).code(), "not_found");
    assert_eq!(client.get("/v1/dispatches/nothing").expect(404).code(), "not_found");
}

#[test]
fn the_same_id_is_the_same_dispatch() {
    let server =
        TestServer::script(Script { replies: vec![Reply::say("Yes.")], after: After::RepeatLast, ..Script::default() });
    let post = |text: &str| {
        let body = json!({"text": text, "id": "my-1", "mode": "followup", "ask": "none"});
        server.client().post("/v1/sessions/main/messages", &body).expect(202).json()
    };
    let (first, second) = (post("once"), post("once"));
    assert_eq!(first["dispatch"], second["dispatch"]);
    assert_eq!((first["fresh"].as_bool(), second["fresh"].as_bool()), (Some(true), Some(false)));
    server.ended(first["dispatch"].as_str().unwrap());
    let third = post("once");
    assert_eq!(third["dispatch"], first["dispatch"], "after its end, too");
    let history = server.client().get("/v1/sessions/main/messages").expect(200).json();
    assert_eq!(history["messages"].as_array().unwrap().len(), 2, "{history}");
}

#[test]
fn a_turn_is_cancelled_and_the_model_let_go() {
    let server =
        TestServer::playing([Reply::steps([Step::say("Thinking "), Step::UntilClosedMs(60_000)]), Reply::say("Next.")]);
    let client = server.client();
    let body = json!({"text": "long", "ask": "none"});
    let running = client.post("/v1/sessions/main/messages", &body).expect(202).json();
    let waiting = client.post("/v1/sessions/main/messages", &json!({"text": "later"})).expect(202).json();
    assert!(server.model.saw_requests_within(1, PATIENCE));
    let (running, waiting) = (running["dispatch"].as_str().unwrap(), waiting["dispatch"].as_str().unwrap());
    let queue = client.get("/v1/queue?session=main").expect(200).json();
    assert_eq!(queue["dispatches"].as_array().unwrap().len(), 2, "{queue}");
    let cancel = |id: &str| client.post(&format!("/v1/dispatches/{id}/cancel"), &Value::Null).expect(200).json();
    assert_eq!(cancel(waiting)["outcome"], "cancelled");
    assert_eq!(cancel(running)["outcome"], "stopping");
    assert!(server.model.saw_close_within(PATIENCE));
    assert_eq!(server.ended(waiting)["state"], "cancelled");
    server.ended(running);
    assert_eq!(cancel(running)["outcome"], "too_late");
}

#[test]
fn sessions_are_forked_renamed_and_deleted() {
    let server =
        TestServer::script(Script { replies: vec![Reply::say("Yes.")], after: After::RepeatLast, ..Script::default() });
    let client = server.client();
    server.say("main", "hi");
    let fork = client.post("/v1/sessions/main/fork", &json!({"label": "a/b"})).expect(201).json();
    assert_eq!(fork["label"], "a/b");
    assert_eq!(client.post("/v1/sessions/main/fork", &json!({"label": "a/b"})).expect(409).code(), "conflict");
    assert_eq!(client.post("/v1/sessions/main/fork", &json!({"label": "two words"})).expect(400).code(), "invalid");
    client.get("/v1/sessions/a%2Fb/messages").expect(200);
    let json_body = [("Content-Type", "application/json")];
    let change = client.request("PATCH", "/v1/sessions/a%2Fb", &json_body, br#"{"label":"c","title":"Title"}"#);
    let changed = change.expect(200).json();
    assert_eq!((changed["label"].as_str(), changed["title"].as_str()), (Some("c"), Some("Title")));
    let untitled = client.request("PATCH", "/v1/sessions/c", &json_body, br#"{"title":null}"#).expect(200).json();
    assert_eq!(untitled.get("title"), Some(&Value::Null));
    client.request("DELETE", "/v1/sessions/c", &[], b"").expect(204);
    client.get("/v1/sessions/c").expect(404);
    let labels = client.get("/v1/sessions").expect(200).json();
    assert_eq!(labels["sessions"].as_array().unwrap().len(), 1, "{labels}");
}

#[test]
fn bad_labels_and_messages_are_refused_in_words() {
    let server = TestServer::playing([]);
    for (label, body) in [
        ("two%20words", json!({"text": "x"})),
        (".hidden", json!({"text": "x"})),
        ("main", json!({"text": ""})),
        ("%ff", json!({"text": "x"})),
    ] {
        let answer = server.client().post(&format!("/v1/sessions/{label}/messages"), &body).expect(400);
        assert_eq!(answer.code(), "invalid", "{label}");
    }
}

#[test]
fn routes_of_other_extensions_are_served() {
    let server = TestServer::playing([]);
    let echoed = server.client().post("/v1/notes/7?a=b", &json!({"x": 1})).expect(200).json();
    assert_eq!(echoed, json!({"path": {"id": "7"}, "query": {"a": "b"}, "body": {"x": 1}, "isApprover": false}));
    server.client().stranger().post("/v1/notes/7", &json!({})).expect(401);
    let broken = server.client().get("/v1/broken").expect(500);
    assert!(!broken.body.contains("inner secret"), "{broken:?}");
    assert!(server.log.text().contains("inner secret"));
}

#[test]
fn raw_routes_get_headers_and_bytes_and_are_open_only_if_they_say_so() {
    let server = TestServer::playing([]);
    let stranger = server.client().stranger();
    let answer = stranger.request("POST", "/v1/raw/7?a=b", &[("X-Mine", "-")], "no {json}".as_bytes()).expect(218);
    assert_eq!(answer.body, "7-no {json}");
    assert_eq!(answer.header("x-answer"), Some("b"));
    stranger.request("POST", "/v1/raw/7", &[], "x".repeat(65).as_bytes()).expect(413);
    stranger.request("POST", "/v1/known-raw", &[], "x".as_bytes()).expect(401);
    server.client().request("POST", "/v1/known-raw", &[], "x".as_bytes()).expect(218);
    stranger.request("GET", "/v1/raw/7", &[], b"").expect(401);
    let described = server.client().get("/openapi.json").expect(200).json();
    assert_eq!(described["paths"]["/v1/raw/{id}"]["post"]["security"], json!([]));
    assert!(described["paths"]["/v1/known-raw"]["post"].get("security").is_none());
}

#[test]
fn closing_tells_everybody_and_takes_nothing_more() {
    let server =
        TestServer::script(Script { replies: vec![Reply::say("Yes.")], after: After::RepeatLast, ..Script::default() });
    server.say("main", "hi");
    let events = crate::client::EventReader::open(&server.client(), "/v1/sessions/main/events?after=0", &[]);
    let reading = std::thread::spawn(move || events.collect::<Vec<_>>());
    server.block_on(server.transport.close());
    let seen = reading.join().unwrap();
    assert_eq!(seen.last().unwrap().event, "closing");
    assert!(std::net::TcpStream::connect(server.bound.addr).is_err(), "nobody listens any more");
}
