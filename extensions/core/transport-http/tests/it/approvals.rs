//! Questions to a person, answered over HTTP.

use crate::client::EventReader;
use crate::server::TestServer;
use dispatch_support::Reply;
use serde_json::{Value, json};

fn asking() -> (TestServer, String, Value) {
    let call = Reply::call(&[("c1", "write_file", json!({"path": "out.txt", "content": "made"}))]);
    let server = TestServer::playing([call, Reply::say("Done.")]);
    let client = server.client();
    let events = EventReader::open(&client, "/v1/sessions/main/events", &[]);
    let posted = client.post("/v1/sessions/main/messages", &json!({"text": "write", "ask": "person"})).expect(202);
    let asked = events.into_iter().find(|sent| sent.event == "asked").unwrap().json();
    let open = client.get("/v1/approvals?session=main").expect(200).json();
    assert_eq!(open[0]["id"], asked["request"]["id"], "{open}");
    let names: Vec<&String> = open[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["id", "session", "dispatch", "tool", "summary", "folder", "expires"], "{open}");
    assert_eq!((&open[0]["dispatch"], &open[0]["summary"]), (&posted.json()["dispatch"], &"write_file out.txt".into()));
    let dispatch = posted.json()["dispatch"].as_str().unwrap().to_owned();
    (server, dispatch, asked["request"].clone())
}

#[test]
fn a_yes_lets_the_call_run() {
    let (server, dispatch, request) = asking();
    let path = format!("/v1/approvals/{}", request["id"].as_str().unwrap());
    assert_eq!(server.person().post(&path, &json!({"answer": "perhaps"})).expect(400).code(), "invalid");
    let refused = server.client().post(&path, &json!({"answer": "allow"})).expect(403);
    assert!(refused.body.contains("approval-token"), "the server's token is not enough: {refused:?}");
    server.person().post(&path, &json!({"answer": "allow"})).expect(200);
    assert_eq!(server.person().post(&path, &json!({"answer": "allow"})).expect(404).code(), "not_found");
    server.ended(&dispatch);
    assert_eq!(std::fs::read_to_string(server.workdir().join("out.txt")).unwrap(), "made");
}

#[test]
fn a_no_is_told_to_the_model() {
    let (server, dispatch, request) = asking();
    let path = format!("/v1/approvals/{}", request["id"].as_str().unwrap());
    server.person().post(&path, &json!({"answer": "deny", "reason": "not today"})).expect(200);
    server.ended(&dispatch);
    assert!(!server.workdir().join("out.txt").exists());
    let history = server.client().get("/v1/sessions/main/messages").expect(200).body;
    assert!(history.contains("not today"), "{history}");
}
