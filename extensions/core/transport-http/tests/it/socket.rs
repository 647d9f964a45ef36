//! The WebSocket: the token in a subprotocol, following a session, submitting, cancelling.

use crate::server::{PATIENCE, TestServer};
use dispatch_support::{After, Reply, Script, Step};
use serde_json::{Value, json};
use std::net::TcpStream;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

fn connect(server: &TestServer, headers: &[(&'static str, &str)]) -> Result<WebSocket<TcpStream>, u16> {
    let mut request = format!("ws://{}/v1/ws", server.bound.addr).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(server.bound.addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    match tungstenite::client(request, stream) {
        Ok((mut socket, _)) => {
            assert_eq!(receive(&mut socket)["type"], "ready");
            Ok(socket)
        }
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
            Err(response.status().as_u16())
        }
        Err(other) => panic!("{other}"),
    }
}

fn receive(socket: &mut WebSocket<TcpStream>) -> Value {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

fn ask(socket: &mut WebSocket<TcpStream>, message: Value) -> Value {
    let reference = message["ref"].clone();
    socket.send(Message::text(message.to_string())).unwrap();
    loop {
        let said = receive(socket);
        if said["type"] != "event" && said.get("ref") == Some(&reference) {
            return said;
        }
    }
}

#[test]
fn a_browser_shows_the_token_in_a_subprotocol() {
    let server = TestServer::playing([]);
    let offer = format!("dispatch.v1, dispatch.token.{}", server.token);
    let own = format!("http://{}", server.bound.addr);
    assert!(connect(&server, &[("sec-websocket-protocol", &offer), ("origin", &own)]).is_ok());
    for headers in [
        &[("sec-websocket-protocol", "dispatch.v1")][..],
        &[("sec-websocket-protocol", "dispatch.v1, dispatch.token.wrong")],
    ] {
        assert_eq!(connect(&server, headers).unwrap_err(), 401);
    }
    let foreign = [("sec-websocket-protocol", offer.as_str()), ("origin", "https://evil.example")];
    assert_eq!(connect(&server, &foreign).unwrap_err(), 403);
    assert_eq!(server.client().get("/v1/ws").expect(426).code(), "upgrade_required");
}

#[test]
fn a_conversation_of_messages() {
    let stuck = Reply::steps([Step::say("Wait "), Step::UntilClosedMs(60_000)]);
    let server = TestServer::playing([Reply::say("Hello."), stuck]);
    let bearer = format!("Bearer {}", server.token);
    let mut socket = connect(&server, &[("authorization", &bearer)]).unwrap();
    let ok = ask(&mut socket, json!({"type": "subscribe", "session": "main", "after": 0, "ref": 1}));
    assert_eq!(ok["type"], "ok", "{ok}");
    let sent = ask(&mut socket, json!({"type": "submit", "session": "main", "text": "hi", "ref": "s"}));
    let dispatch = sent["result"]["dispatch"].clone();
    let mut text = String::new();
    loop {
        let event = receive(&mut socket);
        assert_eq!((event["type"].as_str(), event["session"].as_str()), (Some("event"), Some("main")));
        if event["row"]["role"] == "assistant" {
            text.push_str(event["row"]["chunk"]["text"].as_str().unwrap());
        }
        if event["event"] == "dispatch" && event["dispatch"]["state"] == "done" {
            assert_eq!(event["dispatch"]["id"], dispatch);
            break;
        }
    }
    assert_eq!(text, "Hello.");
    let sent = ask(&mut socket, json!({"type": "submit", "session": "main", "text": "wait", "ref": 2}));
    assert!(server.model.saw_requests_within(2, PATIENCE));
    let dispatch = sent["result"]["dispatch"].clone();
    let cancelled = ask(&mut socket, json!({"type": "cancel", "dispatch": dispatch, "ref": 3}));
    assert_eq!(cancelled["result"]["outcome"], "stopping", "{cancelled}");
    let wrong = ask(&mut socket, json!({"type": "cancel", "dispatch": "none", "ref": 4}));
    assert_eq!(wrong["error"]["code"], "not_found");
    let wrong = ask(&mut socket, json!({"type": "answer", "approval": "none", "answer": "allow", "ref": 5}));
    assert_eq!(wrong["error"]["code"], "forbidden", "the server's token answers no question");
    socket.send(Message::text("{")).unwrap();
    let said = std::iter::repeat_with(|| receive(&mut socket)).find(|said| said["type"] != "event").unwrap();
    assert_eq!(said["error"]["code"], "invalid");
    let ok = ask(&mut socket, json!({"type": "unsubscribe", "session": "main", "ref": 6}));
    assert_eq!(ok["result"]["was"], true);
}

#[test]
fn closing_is_told() {
    let server =
        TestServer::script(Script { replies: vec![Reply::say("Yes.")], after: After::RepeatLast, ..Script::default() });
    let bearer = format!("Bearer {}", server.token);
    let mut socket = connect(&server, &[("authorization", &bearer)]).unwrap();
    let reading = std::thread::spawn(move || receive(&mut socket));
    server.block_on(server.transport.close());
    assert_eq!(reading.join().unwrap()["type"], "closing");
}
