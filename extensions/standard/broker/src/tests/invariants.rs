//! The twelve invariants of routing, checked on what a history left behind.

use super::seeded_hooks::{HOOKS, ONCE, PICKY};
use super::storm::Storm;
use super::surroundings::{IDEMPOTENT, Surroundings, marks};
use dispatch_contracts::statement;
use dispatch_contracts::storage::{Columns, Record};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A line of a table, by the names of its columns.
type Line = BTreeMap<&'static str, String>;

/// Everything that a history left in the tables.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Left {
    events: Vec<Line>,
    invocations: Vec<Line>,
    routed: Vec<Line>,
    dispatches: Vec<Line>,
    turns: Vec<Line>,
    messages: Vec<Line>,
    replies: Vec<Line>,
}

const EVENTS: &[&str] =
    &["id", "channel", "account", "external_id", "sender", "peer", "thread", "content", "origin_hops", "sequence"];
const INVOCATIONS: &[&str] = &["event", "hook", "outcome", "reason", "result"];
const ROUTED: &[&str] = &["id", "event", "hook", "label", "mode", "state", "reason", "merged_into", "submission"];
const DISPATCHES: &[&str] = &["id", "session", "seq", "state", "reason", "attempts", "submission", "turn_id"];
const TURNS: &[&str] = &["id", "session", "ord", "parent", "fence", "state"];
const MESSAGES: &[&str] = &["session", "seq", "turn", "fence"];
const REPLIES: &[&str] =
    &["id", "turn", "part", "dispatch_id", "session", "channel", "delivery", "content", "state", "reason", "attempt"];

/// The folder of a history has another name each time it is played.
fn line(columns: &[&'static str], record: &Record, folder: &str) -> Line {
    let value = |at: usize| match record.optional_text(at) {
        Ok(text) => text.unwrap_or_default().replace(folder, "/work"),
        Err(_) => record.optional_unsigned(at).unwrap().map(|number| number.to_string()).unwrap_or_default(),
    };
    columns.iter().enumerate().map(|(at, column)| (*column, value(at))).collect()
}

fn number(line: &Line, column: &str) -> u64 {
    line[column].parse().unwrap_or_default()
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Where a reply goes, whichever message it answers.
fn target(delivery: &Value) -> String {
    let mut target = delivery.clone();
    if let Some(fields) = target.as_object_mut() {
        fields.remove("replyToId");
    }
    target.to_string()
}

impl Left {
    pub(super) async fn read(storm: &Storm) -> Self {
        let read = async |namespace: &str, others: &[&str], columns: &'static [&'static str], from: &str| {
            let sql = format!("SELECT {} FROM {from}", columns.join(", "));
            let found = storm.store(namespace, others).query(statement!(sql)).await.unwrap();
            found.iter().map(|record| line(columns, record, &storm.folder())).collect::<Vec<Line>>()
        };
        let queue = "session-orchestrator";
        let ledger = &["conversation-store"];
        let inputs = "dispatches LEFT JOIN turn_inputs ON dispatch_id = id ORDER BY session, seq";
        Self {
            events: read("event-ledger", &[], EVENTS, "events ORDER BY sequence").await,
            invocations: read("broker", &[], INVOCATIONS, "hook_invocations ORDER BY event, hook").await,
            routed: read("broker", &[], ROUTED, "route_dispatches ORDER BY sequence, place").await,
            dispatches: read(queue, ledger, DISPATCHES, inputs).await,
            turns: read(queue, ledger, TURNS, "agent_turns ORDER BY session, ord").await,
            messages: read(queue, ledger, MESSAGES, "agent_messages ORDER BY session, seq").await,
            replies: read(queue, ledger, REPLIES, "outbox ORDER BY seq").await,
        }
    }

    /// Checks everything.
    pub(super) fn check(&self, around: &Surroundings) {
        assert!(!self.events.is_empty(), "a history without events proves nothing");
        self.i1_what_was_acknowledged_is_stored_once(around);
        self.i2_every_hook_decided_once_about_every_event();
        self.i3_every_fired_hook_has_one_dispatch();
        self.i4_every_dispatch_has_one_named_end();
        self.i5_and_i9_turns_form_one_chain_under_rising_fences();
        self.i6_inputs_are_consumed_in_order();
        self.i7_inputs_that_share_a_turn_share_their_key();
        self.i8_nothing_is_sent_twice_by_guess(around);
        self.i10_every_reply_goes_where_its_dispatch_says(around);
        self.no_history_is_shared(around);
    }

    /// Whether no message counts a try that failed.
    pub(super) fn counts_no_attempt(&self) -> bool {
        self.dispatches.iter().all(|dispatch| number(dispatch, "attempts") == 0)
    }

    fn event(&self, id: &str) -> &Line {
        self.events.iter().find(|event| event["id"] == id).expect("the event is stored")
    }

    fn i1_what_was_acknowledged_is_stored_once(&self, around: &Surroundings) {
        let stored: BTreeMap<(String, String), String> = self
            .events
            .iter()
            .map(|event| ((event["channel"].clone(), event["external_id"].clone()), event["id"].clone()))
            .collect();
        assert_eq!(stored.len(), self.events.len(), "I1: no event is stored twice");
        // Every sender repeats itself until it is acknowledged, so both are the same.
        assert_eq!(stored, *around.acknowledged.lock().unwrap(), "I1");
    }

    fn i2_every_hook_decided_once_about_every_event(&self) {
        for event in &self.events {
            let decided = self.invocations.iter().filter(|it| it["event"] == event["id"]);
            let hooks: Vec<&str> = decided.map(|it| it["hook"].as_str()).collect();
            if number(event, "origin_hops") > 4 {
                assert_eq!(hooks, ["*"], "I2: an event that came back too often is not routed: {event:?}");
                continue;
            }
            let unique: BTreeSet<&str> = hooks.iter().copied().collect();
            assert_eq!(unique.len(), hooks.len(), "I2: {event:?}");
            let sees = |hook: &&str| *hook != ONCE && (*hook != PICKY || event["channel"] == IDEMPOTENT);
            let wanted: BTreeSet<&str> = HOOKS.iter().copied().filter(sees).collect();
            let certain: BTreeSet<&str> = unique.into_iter().filter(|hook| *hook != ONCE).collect();
            assert_eq!(certain, wanted, "I2: {event:?}");
        }
        let once = self.invocations.iter().filter(|it| it["hook"] == ONCE && it["outcome"] == "fired").count();
        assert!(once <= 1, "I2: a hook that disables itself fires once, not {once} times");
    }

    fn i3_every_fired_hook_has_one_dispatch(&self) {
        let pair = |line: &Line| (line["event"].clone(), line["hook"].clone());
        let fired: Vec<_> = self.invocations.iter().filter(|it| it["outcome"] == "fired").map(pair).collect();
        let mut made: Vec<_> = self.routed.iter().map(pair).collect();
        made.sort();
        assert_eq!(made, fired, "I3");
    }

    fn i4_every_dispatch_has_one_named_end(&self) {
        let queued: BTreeMap<&str, &Line> = self.dispatches.iter().map(|it| (it["id"].as_str(), it)).collect();
        for routed in &self.routed {
            match routed["state"].as_str() {
                "merged" => {
                    let first = self.routed.iter().find(|other| other["id"] == routed["merged_into"]);
                    let first = first.expect("I4: merged into one that is there");
                    assert_eq!((&first["event"], &first["label"]), (&routed["event"], &routed["label"]), "I4");
                    assert_ne!(first["state"], "merged", "I4");
                    assert!(!queued.contains_key(routed["id"].as_str()), "I4: it shares the turn of another");
                }
                "handed" => assert!(queued.contains_key(routed["id"].as_str()), "I4: {routed:?} is lost"),
                other => panic!("I4: {other} {routed:?}"),
            }
        }
        let handed = self.routed.iter().filter(|routed| routed["state"] == "handed").count();
        assert_eq!(queued.len(), handed, "I4: nothing else is queued");
        for dispatch in &self.dispatches {
            let state = dispatch["state"].as_str();
            assert!(["done", "superseded", "parked"].contains(&state), "I4: {dispatch:?}");
            assert!(state == "done" || !dispatch["reason"].is_empty(), "I4: no reason: {dispatch:?}");
            assert!(state != "done" || !dispatch["turn_id"].is_empty(), "I4: {dispatch:?}");
        }
    }

    fn i5_and_i9_turns_form_one_chain_under_rising_fences(&self) {
        let mut last: BTreeMap<&str, (&Line, u64)> = BTreeMap::new();
        for turn in &self.turns {
            let (session, ord, fence) = (turn["session"].as_str(), number(turn, "ord"), number(turn, "fence"));
            if let Some((before, fence_before)) = last.get(session) {
                assert_eq!(ord, number(before, "ord") + 1, "I5: {turn:?}");
                assert!(fence >= *fence_before, "I9: a turn under a fence that was lost: {turn:?}");
            }
            last.insert(session, (turn, fence));
        }
        let mut over: BTreeSet<(&str, &str)> = BTreeSet::new();
        let mut current: BTreeMap<&str, (&str, u64, u64)> = BTreeMap::new();
        for message in &self.messages {
            let (session, turn, fence) =
                (message["session"].as_str(), message["turn"].as_str(), number(message, "fence"));
            if let Some((before, fence_before, seq)) = current.get(session).copied() {
                assert_eq!(number(message, "seq"), seq + 1, "I5: a gap: {message:?}");
                assert!(fence >= fence_before, "I9: {message:?}");
                if before != turn {
                    over.insert((session, before));
                }
            }
            assert!(!over.contains(&(session, turn)), "I5: a turn wrote after another had begun: {message:?}");
            current.insert(session, (turn, fence, number(message, "seq")));
        }
    }

    /// The place of each turn in its session.
    fn places(&self) -> BTreeMap<&str, u64> {
        self.turns.iter().map(|turn| (turn["id"].as_str(), number(turn, "ord"))).collect()
    }

    fn i6_inputs_are_consumed_in_order(&self) {
        let places = self.places();
        let mut sessions: BTreeMap<&str, Vec<(bool, u64)>> = BTreeMap::new();
        for dispatch in self.dispatches.iter().filter(|it| it["state"] == "done") {
            let steers = value(&dispatch["submission"])["mode"] == "steer";
            let place = places[dispatch["turn_id"].as_str()];
            sessions.entry(&dispatch["session"]).or_default().push((steers, place));
        }
        for (session, inputs) in sessions {
            let in_order: Vec<u64> = inputs.iter().filter(|(steers, _)| !steers).map(|(_, place)| *place).collect();
            assert!(in_order.is_sorted(), "I6: {session}: {inputs:?}");
            for (at, (_, place)) in inputs.iter().enumerate().filter(|(_, (steers, _))| *steers) {
                let later = inputs.iter().skip(at + 1).filter(|(steers, _)| !steers);
                assert!(later.map(|(_, later)| later).all(|later| place <= later), "I6: {session}: {inputs:?}");
            }
        }
    }

    fn i7_inputs_that_share_a_turn_share_their_key(&self) {
        let mut shared: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
        for dispatch in self.dispatches.iter().filter(|it| it["state"] == "done") {
            shared.entry(&dispatch["turn_id"]).or_default().push(dispatch);
        }
        for inputs in shared.values() {
            let keys: BTreeSet<String> = inputs
                .iter()
                .map(|input| {
                    let said = value(&input["submission"]);
                    let rights = [&said["persona"], &said["ask"], &said["tools"], &said["sender"]["isOwner"]];
                    json!([rights, target(&said["delivery"])]).to_string()
                })
                .collect();
            assert_eq!(keys.len(), 1, "I7: {inputs:?}");
        }
    }

    fn i8_nothing_is_sent_twice_by_guess(&self, around: &Surroundings) {
        let calls = around.calls.lock().unwrap();
        for reply in &self.replies {
            let own: Vec<_> = calls.iter().filter(|call| call.message.id == reply["id"]).collect();
            let arrived = own.iter().filter(|call| call.has_arrived).count();
            if reply["channel"] != IDEMPOTENT {
                assert!(arrived <= 1, "I8: {reply:?} arrived {arrived} times");
                let repeated = own.iter().rev().skip(1);
                assert!(repeated.clone().all(|call| call.is_ruled_out), "I8: {reply:?} was sent again by guess");
                assert!(reply["state"] != "failed" || arrived == 0, "I8: {reply:?}");
            }
            assert!(reply["state"] != "sent" || arrived > 0, "I8: {reply:?} never arrived");
            assert!(["sent", "failed", "unknown"].contains(&reply["state"].as_str()), "I11: {reply:?}");
        }
        let known: BTreeSet<&str> = self.replies.iter().map(|reply| reply["id"].as_str()).collect();
        assert!(
            calls.iter().all(|call| known.contains(call.message.id.as_str())),
            "I8: only what stands in the outbox"
        );
        let turns: BTreeSet<(&str, &str)> =
            self.replies.iter().map(|reply| (reply["turn"].as_str(), reply["part"].as_str())).collect();
        assert_eq!(turns.len(), self.replies.len(), "I8: one reply of a turn");
        let answered: BTreeSet<&str> = self.replies.iter().map(|reply| reply["turn"].as_str()).collect();
        for dispatch in self.dispatches.iter().filter(|it| it["state"] == "done" && it["reason"].is_empty()) {
            assert!(answered.contains(dispatch["turn_id"].as_str()), "its answer is lost: {dispatch:?}");
        }
    }

    fn i10_every_reply_goes_where_its_dispatch_says(&self, around: &Surroundings) {
        let delivery_of = |routed: &Line| {
            let decided =
                self.invocations.iter().find(|it| it["event"] == routed["event"] && it["hook"] == routed["hook"]);
            let said = value(&decided.expect("it was decided")["result"]);
            said.get("deliveryContext").cloned().unwrap_or_else(|| self.own_delivery(&routed["event"]))
        };
        let labels = self.labels();
        for reply in &self.replies {
            let routed = self.routed.iter().find(|routed| routed["id"] == reply["dispatch_id"]).expect("a dispatch");
            assert_eq!(value(&reply["delivery"]), delivery_of(routed), "I10: {reply:?}");
            for mark in marks(&reply["content"]) {
                assert!(labels[&mark].contains(reply["session"].as_str()), "I10: {mark} in {reply:?}");
            }
        }
        for call in around.calls.lock().unwrap().iter() {
            let reply = self.replies.iter().find(|reply| reply["id"] == call.message.id).expect("it is in the outbox");
            assert_eq!(json!(call.message.delivery), value(&reply["delivery"]), "I10");
            assert_eq!((&call.channel, &call.message.content), (&reply["channel"], &reply["content"]), "I10");
        }
    }

    fn own_delivery(&self, id: &str) -> Value {
        let event = self.event(id);
        let mut delivery = json!({
            "channel": event["channel"], "accountId": event["account"], "peerId": event["peer"], "replyToId": id,
        });
        if !event["thread"].is_empty() {
            delivery["threadId"] = json!(event["thread"]);
        }
        delivery
    }

    /// The sessions that the mark of each event may be read in.
    fn labels(&self) -> BTreeMap<String, BTreeSet<&str>> {
        let mut labels: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for routed in &self.routed {
            for mark in marks(&self.event(&routed["event"])["content"]) {
                labels.entry(mark).or_default().insert(&routed["label"]);
            }
        }
        labels
    }

    /// What the model reads of events all belongs to one session.
    fn no_history_is_shared(&self, around: &Surroundings) {
        let labels = self.labels();
        for request in around.requests.lock().unwrap().iter() {
            let mut common: Option<BTreeSet<&str>> = None;
            for mark in request {
                let of_mark = &labels[mark];
                common = Some(
                    common.map_or_else(|| of_mark.clone(), |known| known.intersection(of_mark).copied().collect()),
                );
            }
            assert!(common.is_none_or(|common| !common.is_empty()), "two sessions in one history: {request:?}");
        }
    }
}
