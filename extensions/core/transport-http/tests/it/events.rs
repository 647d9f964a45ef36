//! The event stream: order, resuming without gap or repetition, and clients that do not read.

use crate::client::{EventReader, ServerSentEvent, TestClient};
use crate::server::TestServer;
use dispatch_support::{After, Reply, Script, Step};
use serde_json::json;

/// The stored rows up to the end of so many turns.
fn rows(events: EventReader, turns: usize) -> Vec<ServerSentEvent> {
    let mut ended = 0;
    let mut rows = Vec::new();
    for sent in events.filter(|sent| sent.event == "row") {
        ended += usize::from(sent.json()["row"]["kind"] == "turn_ended");
        rows.push(sent);
        if ended == turns {
            break;
        }
    }
    rows
}

fn talk(server: &TestServer, times: usize) {
    for _ in 0..times {
        server.say("main", "hi");
    }
}

fn echo() -> TestServer {
    let replies = vec![Reply::say("one two three four")];
    TestServer::script(Script { replies, after: After::RepeatLast, ..Script::default() })
}

#[test]
fn a_client_that_comes_back_misses_nothing_and_sees_nothing_twice() {
    let server = echo();
    talk(&server, 3);
    let client = server.client();
    let all = rows(EventReader::open(&client, "/v1/sessions/main/events?after=0", &[]), 3);
    let places: Vec<u64> = all.iter().map(|sent| sent.id.unwrap()).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>());
    for sent in &all {
        assert_eq!(sent.json()["seq"].as_u64(), sent.id, "the data says the place, too");
    }
    for place in &places[..places.len() - 1] {
        let after = format!("/v1/sessions/main/events?after={place}");
        let turns = all.iter().filter(|sent| sent.id.unwrap() > *place && sent.json()["row"]["kind"] == "turn_ended");
        let turns = turns.count();
        let resumed = rows(EventReader::open(&client, &after, &[]), turns);
        assert_eq!(resumed, all[*place as usize..], "after {place}");
        let place = place.to_string();
        let by_header = EventReader::open(&client, "/v1/sessions/main/events?after=0", &[("Last-Event-ID", &place)]);
        assert_eq!(rows(by_header, turns), resumed);
    }
    client.request("GET", "/v1/sessions/main/events", &[("Last-Event-ID", "x")], b"").expect(400);
    client.get("/v1/sessions/main/events?after=-1").expect(400);
}

#[test]
fn news_comes_while_it_happens() {
    let server = echo();
    let client = server.client();
    let events = EventReader::open(&client, "/v1/sessions/main/events", &[]);
    let posted = client.post("/v1/sessions/main/messages", &json!({"text": "hi"})).expect(202).json();
    let (mut live, mut states) = (String::new(), Vec::new());
    for sent in events {
        let event = sent.json();
        match sent.event.as_str() {
            "live" if event["live"]["type"] == "text_delta" => live.push_str(event["live"]["text"].as_str().unwrap()),
            "dispatch" => {
                assert_eq!(event["dispatch"]["id"], posted["dispatch"]);
                states.push(event["dispatch"]["state"].as_str().unwrap().to_owned());
            }
            _ => {}
        }
        if states.last().is_some_and(|state| state == "done") {
            break;
        }
    }
    assert_eq!(live, "one two three four");
    assert_eq!(states.last().unwrap(), "done");
}

#[test]
fn a_client_that_does_not_read_is_told_and_loses_no_row() {
    // More than sockets and queues hold: what waits for the reader is bounded, so live news is lost.
    let flood = Step::Repeat { text: format!("data: {}\n\n", delta(&format!("{} ", "x".repeat(199)))), times: 12_000 };
    let server = TestServer::playing([Reply::steps([flood, Step::say("end"), Step::event(&finish()), Step::done()])]);
    let client = server.client();
    let asleep = EventReader::open(&client, "/v1/sessions/main/events?after=0", &[]);
    let posted = client.post("/v1/sessions/main/messages", &json!({"text": "flood"})).expect(202).json();
    assert_eq!(server.ended(posted["dispatch"].as_str().unwrap())["state"], "done");
    let (mut live, mut lagged, mut places, mut text) = (0, 0, Vec::new(), String::new());
    for sent in asleep {
        match sent.event.as_str() {
            "live" => live += 1,
            "lagged" => lagged += 1,
            "row" => {
                places.push(sent.id.unwrap());
                let row = &sent.json()["row"];
                if row["role"] == "assistant" {
                    text.push_str(row["chunk"]["text"].as_str().unwrap());
                }
                if row["kind"] == "turn_ended" {
                    break;
                }
            }
            _ => {}
        }
    }
    assert!(lagged > 0 && live < 12_000, "{lagged} losses, {live} live news");
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>());
    assert_eq!(text.len(), 12_000 * 200 + "end".len());
}

fn finish() -> serde_json::Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
}

fn delta(text: &str) -> serde_json::Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
}

#[test]
fn too_many_streams_are_refused() {
    let server = echo();
    let client: TestClient = server.client();
    let open: Vec<EventReader> =
        (0..128).map(|_| EventReader::open(&client, "/v1/sessions/main/events", &[])).collect();
    let refused = client.get("/v1/sessions/main/events").expect(503);
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("busy", Some("1")));
    drop(open);
}
