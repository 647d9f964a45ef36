//! One event after the other through a server that dies at a chosen point, and what has to be true of each afterwards.

use super::super::reply_receiver::{Manners, ReplyReceiver};
use crate::call_counter::{CallCounter, Moment};
use crate::route_workspace::{PATIENCE, RouteWorkspace, is_settled, states, text};
use dispatch_support::{Client, Recorded, Reply, Served};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How often one looks whether a history is over.
const LOOK: Duration = Duration::from_millis(20);
/// The owner may run commands; each event has a session of its own.
const HOOK: &str = "export default (event: { id: string }) =>\n  \
    ({ fire: true, routing: { session: event.id.replace(':', '-') } });\n";
/// Nobody is asked about commands.
const SETTINGS: &str = "[[permissions.rules]]\npermission = \"run_shell\"\ntarget = \"*\"\nverdict = \"allow\"\n\n\
    [route]\nowners = [\"webhook:me\", \"web:me\"]\n";
/// The end of an event whose turn went through.
const ANSWERED: &str = "answered";
/// Where the agent's command writes.
const EFFECTS: &str = "effects";

/// Where a server dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KillPoint {
    /// The number of the call or statement, from 1.
    pub(super) at: u64,
    pub(super) moment: Moment,
    /// Whether what it does while it starts is counted too.
    pub(super) from_the_start: bool,
}

/// How the event comes in and how its answer leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Webhook,
    Web,
}

/// What kills a server.
pub(super) trait Killing {
    /// Starts a server that dies at a point, if one is given; nothing if it died before it listened.
    fn start(&self, workspace: &RouteWorkspace, point: Option<KillPoint>) -> Option<Served>;
    /// From now on is counted.
    fn arm(&self, process: u32, point: KillPoint);
    /// What the server that was started last died at.
    fn struck(&self) -> Option<String>;
}

impl Killing for CallCounter {
    fn start(&self, workspace: &RouteWorkspace, point: Option<KillPoint>) -> Option<Served> {
        let Some(point) = point else { return Some(workspace.serve()) };
        let variables = self.variables(point.at, point.moment);
        if point.from_the_start {
            Self::arm(self);
        }
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
        Served::try_start(&workspace.context, &[], &variables).ok()
    }

    fn arm(&self, _process: u32, _point: KillPoint) {
        Self::arm(self);
    }

    fn struck(&self) -> Option<String> {
        Self::struck(self)
    }
}

/// What became of one history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HistoryResult {
    /// What each server died at.
    pub(super) struck: Vec<String>,
    pub(super) end: &'static str,
}

pub(super) struct Histories<'a> {
    killing: &'a dyn Killing,
    workspace: RouteWorkspace,
    receiver: ReplyReceiver,
    /// The ways of the events that were sent, by their own ids.
    sent: BTreeMap<String, Way>,
}

impl<'a> Histories<'a> {
    pub(super) fn new(killing: &'a dyn Killing) -> Self {
        let receiver = ReplyReceiver::start(Manners::Answers);
        let settings =
            format!("{SETTINGS}\n[route.webhooks.shop]\nsignature = \"none\"\nreply_url = \"{}\"\n", receiver.url());
        let workspace = RouteWorkspace::with_settings(answer, &settings);
        workspace.hook("all", HOOK);
        // The tables are made, and one event has gone all the way.
        let mut histories = Self { killing, workspace, receiver, sent: BTreeMap::new() };
        for way in [Way::Webhook, Way::Web] {
            let played = histories.play(way, &[]);
            assert_eq!(played.end, ANSWERED);
        }
        histories
    }

    pub(super) fn count(&self) -> usize {
        self.sent.len()
    }

    /// Sends an event to servers of which each dies at its point, then to one that lives.
    pub(super) fn play(&mut self, way: Way, points: &[KillPoint]) -> HistoryResult {
        let id = format!("e{}", self.sent.len());
        self.sent.insert(id.clone(), way);
        let mut is_known = false;
        let mut struck = Vec::new();
        for point in points {
            if let Some(mut served) = self.killing.start(&self.workspace, Some(*point)) {
                if !point.from_the_start {
                    self.killing.arm(served.id(), *point);
                }
                self.drive(&served.client, way, &id, &mut is_known);
                served.kill();
            }
            // A server that did not come to its point has brought all to its end.
            struck.extend(self.killing.struck());
        }
        let served = self.killing.start(&self.workspace, None).expect("a server that nobody kills starts");
        let receipt = self.drive(&served.client, way, &id, &mut is_known).expect("nobody kills this server");
        let end = self.check(&served.client, &id, &receipt);
        HistoryResult { struck, end }
    }

    /// Sends the event until it is taken, then waits for its end. Nothing if the server dies.
    fn drive(&self, client: &Client, way: Way, id: &str, is_known: &mut bool) -> Option<Value> {
        let content = format!("append {id}");
        let (path, body) = match way {
            Way::Webhook => ("/v1/hooks/shop", json!({ "id": id, "from": "me", "content": content })),
            Way::Web => ("/v1/channels/web/me/messages", json!({ "id": id, "content": content })),
        };
        let answer = client.try_post(path, &body).ok()?;
        assert!([200, 202].contains(&answer.status), "{answer:?}");
        let event = event_of(way, id);
        assert_eq!(answer.json()["event"], event, "{answer:?}");
        assert!(!*is_known || answer.json()["fresh"] == false, "it was acknowledged before: {answer:?}");
        *is_known = true;
        let until = Instant::now() + PATIENCE;
        loop {
            let receipt = client.ask("GET", &format!("/v1/events/{event}"), &[], "").ok()?.json();
            if is_settled(&receipt) {
                return Some(receipt);
            }
            assert!(Instant::now() < until, "it never came to an end: {receipt:#}");
            std::thread::sleep(LOOK);
        }
    }

    /// Checks what an event has led to; gives its end in one word.
    fn check(&self, client: &Client, id: &str, receipt: &Value) -> &'static str {
        assert_eq!(receipt["hooks"].as_array().map(Vec::len), Some(1), "{receipt:#}");
        assert_eq!(states(receipt, "dispatches"), ["done"], "{receipt:#}");
        let lines = self.effects().into_iter().filter(|line| line == id).count();
        assert!(lines <= 1, "the command of {id} ran {lines} times: {receipt:#}");
        let session = text(&receipt["dispatches"][0]["session"]);
        let history = client.get(&format!("/v1/sessions/{session}/messages")).body;
        let is_called = history.contains(&call_of(id));
        assert!(lines == 0 || is_called, "the command of {id} ran, and nothing says that: {history}");
        let reason = text(&receipt["dispatches"][0]["reason"]);
        let sends = states(receipt, "sends").len();
        if reason.is_empty() {
            assert_eq!((sends, lines), (1, 1), "{receipt:#}\n{history}");
            return ANSWERED;
        }
        assert!(reason.contains("interrupted"), "{receipt:#}");
        assert_eq!(sends, 0, "{receipt:#}");
        if lines == 1 { "interrupted behind the command" } else { "interrupted before the command" }
    }

    fn effects(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.workspace.context.project().join(EFFECTS)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Checks what all events together have led to. Gives how many were answered.
    pub(super) fn check_all(&self) -> usize {
        let served = self.killing.start(&self.workspace, None).expect("it starts");
        let lines = self.effects();
        assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), lines.len(), "no command ran twice: {lines:?}");
        let mut posted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for reply in self.receiver.received() {
            posted.entry(reply.event).or_default().insert(reply.key);
        }
        let mut kept: BTreeMap<String, usize> = BTreeMap::new();
        for reply in kept_replies(&served.client) {
            *kept.entry(reply).or_default() += 1;
        }
        let mut answered = 0;
        for (id, way) in &self.sent {
            let event = event_of(*way, id);
            let receipt = served.client.get(&format!("/v1/events/{event}")).json();
            let wanted = usize::from(self.check(&served.client, id, &receipt) == ANSWERED);
            let (names, replies) = (posted.get(&event).map_or(0, BTreeSet::len), kept.get(&said(id)).copied());
            let found = if *way == Way::Webhook { names } else { replies.unwrap_or_default() };
            assert_eq!(found, wanted, "{receipt:#}");
            answered += wanted;
        }
        let total: usize = posted.values().map(BTreeSet::len).sum::<usize>() + kept.values().sum::<usize>();
        assert_eq!(total, answered, "there are replies to nobody's event: {posted:?} {kept:?}");
        answered
    }
}

/// The model runs a command for every message, then says that it has.
fn answer(request: &Recorded) -> Reply {
    let body = request.json();
    let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    let asked = text(&last["content"]);
    match asked.rsplit("append ").next().filter(|_| last["role"] == "user") {
        Some(id) => {
            let command = format!("echo {id} >> {EFFECTS}");
            Reply::call(&[(&call_of(id), "run_shell", json!({ "command": command }))])
        }
        None => {
            let call = text(&last["tool_call_id"]);
            Reply::say(&said(call.trim_start_matches("call-")))
        }
    }
}

fn call_of(id: &str) -> String {
    format!("call-{id}")
}

fn said(id: &str) -> String {
    format!("{id} is done.")
}

fn event_of(way: Way, id: &str) -> String {
    format!("{}:{id}", if way == Way::Webhook { "webhook" } else { "web" })
}

/// What the channel `web` keeps for its peer: everything in front of what a last message is answered with.
fn kept_replies(client: &Client) -> Vec<String> {
    use std::io::BufRead as _;
    const LAST: &str = "last";
    let body = json!({ "id": LAST, "content": format!("append {LAST}") });
    let posted = client.post("/v1/channels/web/me/messages", &body);
    assert!([200, 202].contains(&posted.status), "{posted:?}");
    let mut stream = client.send("GET", "/v1/channels/web/me/events?after=0", &[], "").unwrap();
    let mut replies = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the stream ended");
        let Some(data) = line.strip_prefix("data:") else { continue };
        let reply: Value = serde_json::from_str(data.trim()).unwrap();
        let content = text(&reply["content"]);
        if content == said(LAST) {
            return replies;
        }
        replies.push(content);
    }
}
