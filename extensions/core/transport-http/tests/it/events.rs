//! The event stream: order, resuming without gap or repetition, and clients that do not read.

use crate::client::{Client, Events, Sent, read_head};
use crate::rig::{PATIENCE, Rig};
use dispatch_support::{After, Reply, Script, Step};
use serde_json::json;
use std::io::Read;

/// The stored rows up to the end of so many turns.
fn rows(events: Events, turns: usize) -> Vec<Sent> {
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

fn talk(rig: &Rig, times: usize) {
    for _ in 0..times {
        rig.say("main", "hi");
    }
}

fn echo() -> Rig {
    let replies = vec![Reply::say("one two three four")];
    Rig::script(Script { replies, after: After::RepeatLast, ..Script::default() })
}

#[test]
fn a_client_that_comes_back_misses_nothing_and_sees_nothing_twice() {
    let rig = echo();
    talk(&rig, 3);
    let client = rig.client();
    let all = rows(Events::open(&client, "/v1/sessions/main/events?after=0", &[]), 3);
    let places: Vec<u64> = all.iter().map(|sent| sent.id.unwrap()).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>());
    for sent in &all {
        assert_eq!(sent.json()["seq"].as_u64(), sent.id, "the data says the place, too");
    }
    for place in &places[..places.len() - 1] {
        let after = format!("/v1/sessions/main/events?after={place}");
        let left = usize::from(*place < places[places.len() - 1]);
        assert_eq!(left, 1);
        let turns = all.iter().filter(|sent| sent.id.unwrap() > *place && sent.json()["row"]["kind"] == "turn_ended");
        let turns = turns.count();
        let resumed = rows(Events::open(&client, &after, &[]), turns);
        assert_eq!(resumed, all[*place as usize..], "after {place}");
        let place = place.to_string();
        let by_header = Events::open(&client, "/v1/sessions/main/events?after=0", &[("Last-Event-ID", &place)]);
        assert_eq!(rows(by_header, turns), resumed);
    }
    client.request("GET", "/v1/sessions/main/events", &[("Last-Event-ID", "x")], b"").expect(400);
    client.get("/v1/sessions/main/events?after=-1").expect(400);
}

#[test]
fn news_comes_while_it_happens() {
    let rig = echo();
    let client = rig.client();
    let events = Events::open(&client, "/v1/sessions/main/events", &[]);
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
fn a_client_that_does_not_read_costs_bounded_memory() {
    // More than sockets and queues hold: the reader falls behind and is told so.
    let flood = Step::Repeat { text: format!("data: {}\n\n", delta(&"x".repeat(200))), times: 12_000 };
    let rig = Rig::playing([Reply::steps([flood, Step::say("end"), Step::done()]), Reply::say("after")]);
    let client = rig.client();
    let mut asleep = client.send("GET", "/v1/sessions/main/events?after=0", &[], b"");
    read_head(&mut asleep).expect(200);
    let before = resident_kib();
    let posted = client.post("/v1/sessions/main/messages", &json!({"text": "flood"})).expect(202).json();
    rig.ended(posted["dispatch"].as_str().unwrap());
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 64 * 1024, "{grown} KiB");
    let mut held = String::new();
    let mut buffer = [0; 64 * 1024];
    asleep.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    while !held.contains("\"kind\":\"turn_ended\"") {
        let count = asleep.read(&mut buffer).unwrap();
        assert!(count > 0, "the stream goes on when the client wakes up");
        held.push_str(&String::from_utf8_lossy(&buffer[..count]));
        if held.len() > 1 << 20 && !held.contains("turn_ended") {
            let tail = held.len() - 64;
            let kept = held.contains("event: lagged");
            held = format!("{}{}", if kept { "event: lagged" } else { "" }, held.get(tail..).unwrap_or_default());
        }
    }
    assert!(held.contains("event: lagged"), "it was told that live news was lost");
}

fn delta(text: &str) -> serde_json::Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]})
}

/// The memory of this process; 0 where the system does not say.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}

#[test]
fn too_many_streams_are_refused() {
    let rig = echo();
    let client: Client = rig.client();
    let open: Vec<Events> = (0..128).map(|_| Events::open(&client, "/v1/sessions/main/events", &[])).collect();
    let refused = client.get("/v1/sessions/main/events").expect(503);
    assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("busy", Some("1")));
    drop(open);
}
