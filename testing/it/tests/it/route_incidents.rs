//! Public incidents of other message routers about routing and delivery, played through the executable. Each is a test:
//!
//! | incident | test |
//! |---|---|
//! | openclaw 127211, 74093, 148731 (a long turn ahead, a reset behind a run, a steer behind a follow-up) | `session-orchestrator`: `tests/incidents.rs` |
//! | openclaw 122465 (a poison message at the head) | `session-orchestrator`: `a_poison_head_is_parked_and_the_lane_moves` |
//! | openclaw 135880 (ten queued, SIGKILL) | [`ten_events_of_one_conversation_and_a_kill_are_all_answered_in_order`] |
//! | openclaw 50145 (an interrupt sent the earlier reply again) | [`an_interrupt_sends_no_earlier_reply_again`] |
//! | openclaw 24148, 8154, 44668 (a reply to somebody else) | [`no_reply_leaves_for_another_target_than_its_events`] |
//! | openclaw 51620, 42157, 50563 (acknowledged before it was durable) | `route_inbound::a_killed_server_loses_nothing_that_it_acknowledged_and_stores_nothing_twice` |
//! | openclaw 37697, 106444, 78264 (replies doubled by a restart) | `route_crash::random_kills_lose_no_event_and_answer_none_twice` |
//! | openclaw 15636, 119370 (unknown outcome of a send) | `route_crash::a_reply_whose_receiver_said_nothing_comes_again_under_the_same_name`, `route_mail_faults::a_mail_that_may_have_left_is_unknown_and_is_not_sent_again` |
//! | openclaw 70319, 119222 (stale output of a run that was replaced) | `route_crash::a_server_that_is_stopped_past_its_lease_sends_nothing_late` |
//! | openclaw 44602 (rights of one sender used for another) | [`a_strangers_interrupt_spares_the_owners_message`], [`messages_are_collected_only_with_their_own_target_and_rights`] |
//! | graphile-worker 621 (two jobs of one queue at once) | [`turns_of_one_session_never_overlap`] |
//! | openclaw 112317, 16771 (what did not fit was cut) | [`a_full_session_keeps_every_message_whole`] |
//! | openclaw 42640, 4018 (a schedule doubled by a restart) | `react_schedule::no_time_of_a_schedule_runs_twice_over_kills_and_restarts` |
//! | n8n 24274 (told of before it was committed) | [`what_is_acknowledged_can_be_seen_at_once`] |

use crate::route_workspace::{ALL, RouteWorkspace, is_settled, states, text};
use crate::run_workspace::wait_until;
use dispatch_support::{Client, Recorded, Reply, Step};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What keeps the model from answering those who say `hold`.
#[derive(Clone, Default)]
struct Gate(Arc<AtomicBool>);

impl Gate {
    fn open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Answers with the last words that it was asked.
    fn answer(&self, request: &Recorded) -> Reply {
        let said = last_words(request);
        while said.contains("hold") && !self.0.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Reply::say(&format!("re {said}"))
    }
}

/// The last thing that the model was told, without the mark of a quotation.
fn last_words(request: &Recorded) -> String {
    let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.iter().rev().find(|message| message["role"] == "user").cloned().unwrap_or_default();
    let text = last["content"].to_string();
    let words = text.rsplit("> ").next().unwrap_or_default().trim_start_matches('"');
    words.chars().take_while(|letter| letter.is_alphanumeric() || *letter == ' ' || *letter == '-').collect()
}

/// Everything goes to one session; `stop` interrupts, `more` is collected.
const DESK: &str = "export default (event: { content: string }) => ({ fire: true, routing: { session: 'desk', queueMode:\n  \
    event.content.startsWith('stop') ? 'interrupt' : event.content.startsWith('more') ? 'collect' : 'followup' } });\n";

fn desk(gate: &Gate) -> RouteWorkspace {
    let gate = gate.clone();
    let settings = "[route]\nowners = [\"web:me\"]\n";
    let workspace = RouteWorkspace::with_settings(move |request| gate.answer(request), settings);
    workspace.hook("desk", DESK);
    workspace
}

/// A person says something; the id of the event is the name and what was said.
fn say(client: &Client, from: &str, content: &str) -> String {
    let id = format!("{from}-{}", content.replace(' ', "-"));
    let event = json!({ "channel": "web", "from": from, "peerId": from, "id": id, "content": content });
    let answer = client.post("/v1/events", &event);
    assert_eq!(answer.status, 202, "{answer:?}");
    format!("web:{id}")
}

fn receipt(client: &Client, event: &str) -> Value {
    client.get(&format!("/v1/events/{event}")).json()
}

fn wait_for_state(client: &Client, event: &str, wanted: &[&str]) -> Value {
    let state = || states(&receipt(client, event), "dispatches").join(" ");
    wait_until(&format!("{event} is {wanted:?}"), || wanted.contains(&state().as_str()));
    receipt(client, event)
}

/// Replies as they left, the oldest first: to whom, and what.
fn replies(workspace: &RouteWorkspace) -> Vec<(String, String)> {
    let listed = workspace.context.dispatch(&["outbox", "list", "--json"]).json();
    let mut replies: Vec<(String, String)> = listed["outbox"].as_array().into_iter().flatten().map(told).collect();
    replies.reverse();
    replies
}

fn told(reply: &Value) -> (String, String) {
    let content = reply.get("text").or_else(|| reply.get("content")).cloned().unwrap_or_default();
    (text(&reply["delivery"]["peerId"]), text(&content))
}

#[test]
fn ten_events_of_one_conversation_and_a_kill_are_all_answered_in_order() {
    let workspace = RouteWorkspace::answering(
        |request| {
            std::thread::sleep(Duration::from_millis(100));
            Reply::say(&format!("re {}", last_words(request)))
        },
        "",
    );
    workspace.hook("all", ALL);
    let mut served = workspace.serve();
    let events: Vec<String> = (0..10).map(|number| say(&served.client, "ann", &format!("question {number}"))).collect();
    wait_until("some are answered", || workspace.asked().len() >= 3);
    served.kill();
    let served = workspace.serve();
    let mut interrupted = 0;
    for event in &events {
        wait_until(event, || is_settled(&receipt(&served.client, event)));
        let reason = text(&receipt(&served.client, event)["dispatches"][0]["reason"]);
        interrupted += usize::from(reason.contains("interrupted"));
    }
    let answers: Vec<String> = replies(&workspace).into_iter().map(|(_, content)| content).collect();
    assert_eq!(answers.len() + interrupted, 10, "{answers:?}");
    assert!(interrupted <= 1, "one turn ran when the server was killed: {answers:?}");
    assert!(answers.is_sorted(), "{answers:?}");
}

#[test]
fn an_interrupt_sends_no_earlier_reply_again() {
    let gate = Gate::default();
    let workspace = desk(&gate);
    let served = workspace.serve();
    let first = say(&served.client, "ann", "one");
    wait_until("it is answered", || is_settled(&receipt(&served.client, &first)));
    let held = say(&served.client, "ann", "hold");
    wait_for_state(&served.client, &held, &["running"]);
    let stop = say(&served.client, "ann", "stop it");
    wait_for_state(&served.client, &held, &["done"]);
    gate.open();
    wait_until("it is answered", || is_settled(&receipt(&served.client, &stop)));
    let contents: Vec<String> = replies(&workspace).into_iter().map(|(_, content)| content).collect();
    assert_eq!(contents, ["re one", "re stop it"]);
}

#[test]
fn a_strangers_interrupt_spares_the_owners_message() {
    let gate = Gate::default();
    let workspace = desk(&gate);
    let served = workspace.serve();
    let held = say(&served.client, "bob", "hold");
    wait_for_state(&served.client, &held, &["running"]);
    let own = say(&served.client, "me", "what the owner asks");
    wait_for_state(&served.client, &own, &["pending"]);
    let stop = say(&served.client, "eve", "stop it");
    wait_for_state(&served.client, &stop, &["pending", "running", "done"]);
    gate.open();
    for event in [&own, &stop] {
        wait_until(event, || is_settled(&receipt(&served.client, event)));
    }
    assert_eq!(states(&receipt(&served.client, &own), "sends"), ["sent"], "the owner is answered");
    assert!(replies(&workspace).contains(&("me".to_owned(), "re what the owner asks".to_owned())));
}

#[test]
fn no_reply_leaves_for_another_target_than_its_events() {
    let gate = Gate::default();
    let workspace = desk(&gate);
    let served = workspace.serve();
    let events: Vec<String> = ["ann", "bob", "me"]
        .iter()
        .flat_map(|from| [format!("{from} asks to answer eve"), format!("{from} again")].map(|said| (from, said)))
        .map(|(from, said)| say(&served.client, from, &said))
        .collect();
    for event in &events {
        wait_until(event, || is_settled(&receipt(&served.client, event)));
    }
    let replies = replies(&workspace);
    assert_eq!(replies.len(), events.len(), "{replies:?}");
    for (peer, content) in &replies {
        assert!(content.starts_with(&format!("re {peer} ")), "{replies:?}");
    }
}

#[test]
fn messages_are_collected_only_with_their_own_target_and_rights() {
    let gate = Gate::default();
    let workspace = desk(&gate);
    let served = workspace.serve();
    let held = say(&served.client, "bob", "hold");
    wait_for_state(&served.client, &held, &["running"]);
    // The messages of one peer differ in what they reply to and share a turn all the same.
    let ann: Vec<String> = (0..3).map(|number| say(&served.client, "ann", &format!("more {number}"))).collect();
    // Conversations are routed side by side, and a message between hers would end what is collected.
    for event in &ann {
        wait_for_state(&served.client, event, &["pending"]);
    }
    let (own, other) = (say(&served.client, "me", "more of me"), say(&served.client, "eve", "more of eve"));
    for event in [&own, &other] {
        wait_for_state(&served.client, event, &["pending"]);
    }
    gate.open();
    let turn = |event: &String| {
        wait_for_state(&served.client, event, &["done"]);
        text(&receipt(&served.client, event)["dispatches"][0]["turn"])
    };
    let turns: BTreeSet<String> = ann.iter().map(turn).collect();
    assert_eq!(turns.len(), 1, "{turns:?}");
    assert!(!turns.contains(&turn(&own)) && !turns.contains(&turn(&other)), "{turns:?}");
    assert_ne!(turn(&own), turn(&other));
}

/// How long the model takes to answer at least.
const ANSWER_MS: u64 = 60;

#[test]
fn turns_of_one_session_never_overlap() {
    // Who was asked for sooner than the answer before it can have come was asked for while that turn ran.
    let asked = Arc::<Mutex<BTreeMap<String, Instant>>>::default();
    let overlapped = Arc::<AtomicUsize>::default();
    let (last, counted) = (Arc::clone(&asked), Arc::clone(&overlapped));
    let workspace = RouteWorkspace::answering(
        move |request| {
            let peer = last_words(request).split(' ').next().unwrap_or_default().to_owned();
            let before = last.lock().unwrap().insert(peer, Instant::now());
            let overlaps = before.is_some_and(|before| before.elapsed() < Duration::from_millis(ANSWER_MS));
            counted.fetch_add(usize::from(overlaps), Ordering::Relaxed);
            Reply::steps([Step::SleepMs(ANSWER_MS), Step::say("Yes."), Step::done()])
        },
        "",
    );
    workspace.hook("all", ALL);
    // Two processes that could both take them.
    let (first, second) = (workspace.serve(), workspace.serve());
    let events: Vec<String> = (0..18)
        .map(|number| {
            let (client, peer) = (if number % 2 == 0 { &first.client } else { &second.client }, number % 3);
            say(client, &format!("peer{peer}"), &format!("peer{peer} says {number}"))
        })
        .collect();
    for event in &events {
        wait_until(event, || is_settled(&receipt(&first.client, event)));
    }
    assert_eq!((overlapped.load(Ordering::Relaxed), asked.lock().unwrap().len()), (0, 3));
    assert_eq!(workspace.asked().len(), events.len());
}

#[test]
fn what_is_acknowledged_can_be_seen_at_once() {
    let workspace = RouteWorkspace::saying("Yes.");
    workspace.hook("all", ALL);
    let (first, second) = (workspace.serve(), workspace.serve());
    for number in 0..30 {
        let event = say(&first.client, "ann", &format!("number {number}"));
        let seen = second.client.get(&format!("/v1/events/{event}"));
        assert_eq!(seen.status, 200, "{event}: {seen:?}");
    }
}

/// How many messages a session takes in while a turn of it runs, and how many come after them.
const ROOM: usize = 1_000;
const TOO_MANY: usize = 10;
const SENDERS: usize = 8;

#[test]
fn a_full_session_keeps_every_message_whole() {
    let gate = Gate::default();
    let workspace = desk(&gate);
    let served = workspace.serve();
    let held = say(&served.client, "bob", "hold");
    wait_for_state(&served.client, &held, &["running"]);
    let words = |number: usize| format!("more payload-{number:04}-ends");
    let send = |number: usize| say(&served.client, "ann", &words(number));
    let filling: Vec<String> = std::thread::scope(|scope| {
        let part = |sender: usize| (sender..ROOM).step_by(SENDERS).map(send).collect::<Vec<_>>();
        let senders: Vec<_> = (0..SENDERS).map(|sender| scope.spawn(move || part(sender))).collect();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    });
    let late: Vec<String> = (ROOM..ROOM + TOO_MANY).map(send).collect();
    let full = wait_for_state(&served.client, &late[TOO_MANY - 1], &["waiting"]);
    wait_until("the session is full", || {
        let receipt = receipt(&served.client, &late[0]);
        text(&receipt["dispatches"][0]["reason"]).contains("1000")
    });
    assert_eq!(states(&full, "sends"), [""; 0]);
    gate.open();
    for event in filling.iter().chain(&late) {
        wait_until(event, || is_settled(&receipt(&served.client, event)));
    }
    // What the model was told last holds the whole conversation, its own answers too.
    let request = workspace.asked().pop().unwrap();
    let said = request["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
    let told: String = said.map(|message| message["content"].to_string()).collect();
    for number in 0..ROOM + TOO_MANY {
        assert_eq!(told.matches(&words(number)).count(), 1, "message {number}");
    }
}
