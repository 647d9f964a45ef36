//! Routing while servers are killed, stopped and not answered: every event that was acknowledged leads to one reply, and
//! whoever gets replies sees none of them twice under two names.

mod reply_receiver;
mod statements;

use crate::route_workspace::{ALL, PATIENCE, RouteWorkspace, is_settled, states, text};
use crate::run_workspace::wait_until;
use crate::seeded_random::SeededRandom;
use crate::storage_chaos::cluster::Cluster;
use dispatch_support::{Client, PostgresServer, Recorded, Reply, ScriptedModel, Step, TestContext, slow_lane};
use hmac::{Hmac, KeyInit, Mac};
use reply_receiver::{Manners, ReplyReceiver};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How many servers are killed, and how many in the slow lane.
const KILLS: u64 = 8;
const SLOW_KILLS: u64 = 300;
/// A reply whose sender was killed several times waits longer each time.
const SLOW_PATIENCE: Duration = Duration::from_secs(15 * 60);
/// Plays a failure again.
const SEED_VARIABLE: &str = "DISPATCH_TEST_SEED";
/// The events of three nodes, and how often one of them is killed.
const NODE_EVENTS: u64 = 24;
const SLOW_NODE_EVENTS: u64 = 600;
const NODE_KILLED_EVERY: Duration = Duration::from_secs(4);
const NODE_SENDERS: u64 = 4;
const SHOP: &str = "/v1/hooks/shop";

fn settings(receiver: &ReplyReceiver) -> String {
    format!("[route.webhooks.shop]\nsignature = \"none\"\nreply_url = \"{}\"\n", receiver.url())
}

/// A workspace whose replies go to somebody outside.
fn workspace(receiver: &ReplyReceiver, answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> RouteWorkspace {
    let workspace = RouteWorkspace::answering(answer, &settings(receiver));
    workspace.hook("all", ALL);
    workspace
}

fn shop_event(id: &str, from: u64) -> Value {
    json!({ "id": id, "from": format!("buyer{from}"), "content": format!("about {id}") })
}

/// Sends an event; says whether it was acknowledged.
fn is_taken(client: &Client, id: &str, from: u64) -> bool {
    let Ok(answer) = client.try_post(SHOP, &shop_event(id, from)) else { return false };
    assert!([200, 202].contains(&answer.status), "{answer:?}");
    assert_eq!(answer.json()["event"], format!("webhook:{id}"));
    true
}

/// From microseconds to half a second, each order of magnitude as often as the others.
fn delay(random: &mut SeededRandom) -> Duration {
    let most_micros = [1_000, 10_000, 100_000, 500_000][random.below(4) as usize];
    Duration::from_micros(random.below(most_micros))
}

/// Checks that each event led to one reply under one name, or says in its receipt why its turn ended without one.
fn check_replies(receiver: &ReplyReceiver, receipts: &BTreeMap<String, Value>) -> usize {
    let mut keys: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for reply in receiver.received() {
        assert!(receipts.contains_key(&reply.event), "a reply to nobody's event: {reply:?}");
        assert!(!reply.content.is_empty(), "{reply:?}");
        keys.entry(reply.event).or_default().insert(reply.key);
    }
    for (event, receipt) in receipts {
        assert_eq!(receipt["hooks"].as_array().map(Vec::len), Some(1), "{receipt:#}");
        assert_eq!(states(receipt, "dispatches"), ["done"], "{receipt:#}");
        let is_interrupted = text(&receipt["dispatches"][0]["reason"]).contains("interrupted");
        let wanted = usize::from(!is_interrupted);
        assert_eq!(states(receipt, "sends").len(), wanted, "{receipt:#}");
        assert_eq!(keys.get(event).map_or(0, BTreeSet::len), wanted, "{receipt:#}");
    }
    keys.len()
}

#[test]
fn random_kills_lose_no_event_and_answer_none_twice() {
    let receiver = ReplyReceiver::start(Manners::Answers);
    let workspace = workspace(&receiver, |_| Reply::say("Yes."));
    let seed = std::env::var(SEED_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(14);
    let mut random = SeededRandom(seed);
    println!("{SEED_VARIABLE}={seed}");
    // Those that nobody has acknowledged yet are sent again.
    let (mut open, mut taken) = (Vec::new(), Vec::new());
    for round in 0..if slow_lane() { SLOW_KILLS } else { KILLS } {
        let mut served = workspace.serve();
        open.extend((0..=random.below(3)).map(|number| format!("k{round}x{number}")));
        let moment = delay(&mut random);
        let client = served.client.clone();
        let (left, new) = std::thread::scope(|scope| {
            let wanted = std::mem::take(&mut open);
            let sending =
                scope.spawn(move || wanted.into_iter().partition::<Vec<String>, _>(|id| !is_taken(&client, id, round)));
            std::thread::sleep(moment);
            served.kill();
            sending.join().expect("the sender")
        });
        open = left;
        taken.extend(new);
    }
    let served = workspace.serve();
    for id in open {
        assert!(is_taken(&served.client, &id, 0), "{id}");
        taken.push(id);
    }
    let mut retried = 0;
    let receipts = taken.iter().map(|id| {
        let event = format!("webhook:{id}");
        retried += usize::from(is_retried(&workspace, &served.client, &event));
        (event.clone(), settled(&served.client, &event))
    });
    let receipts = receipts.collect();
    let answered = check_replies(&receiver, &receipts);
    println!("{} events, {retried} retried, {answered} answered, {} posts", receipts.len(), receiver.received().len());
    assert!(answered * 2 > receipts.len(), "{answered} of {} were answered", receipts.len());
}

/// Waits until an event's turn is over. One that was killed too often is set aside, and a person retries it.
fn is_retried(workspace: &RouteWorkspace, client: &Client, event: &str) -> bool {
    let dispatch = || client.get(&format!("/v1/events/{event}")).json()["dispatches"][0].clone();
    wait_until(event, || matches!(dispatch()["state"].as_str(), Some("done" | "parked")));
    let ended = dispatch();
    if ended["state"] == "done" {
        return false;
    }
    assert!(text(&ended["reason"]).contains("stopped 3 times"), "{ended:#}");
    let retried = workspace.context.dispatch(&["queue", "retry", &text(&ended["id"])]);
    assert_eq!(retried.status, 0, "{retried:?}");
    true
}

/// The receipt of an event once all of it is over.
fn settled(client: &Client, event: &str) -> Value {
    let until = Instant::now() + if slow_lane() { SLOW_PATIENCE } else { PATIENCE };
    loop {
        let receipt = client.get(&format!("/v1/events/{event}")).json();
        if is_settled(&receipt) {
            return receipt;
        }
        assert!(Instant::now() < until, "it never came to an end: {receipt:#}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_that_is_stopped_past_its_lease_sends_nothing_late() {
    let receiver = ReplyReceiver::start(Manners::Answers);
    // The first answer comes while its reader is stopped.
    let first = AtomicBool::new(true);
    let workspace = workspace(&receiver, move |request| {
        if request.method != "POST" || !first.swap(false, Ordering::Relaxed) {
            return Reply::say("From the second.");
        }
        Reply::steps([Step::SleepMs(8_000), Step::say("From the first."), Step::done()])
    });
    let stopped = workspace.serve();
    assert!(is_taken(&stopped.client, "held", 1));
    wait_until("the model is asked", || workspace.asked().len() == 1);
    let process = Pid::from_raw(stopped.id().cast_signed()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    let second = workspace.serve();
    let receipt = settled(&second.client, "webhook:held");
    kill_process(process, Signal::CONT).unwrap();
    // Both work again, and the one that was away has learned that its turn is not its own any more.
    for (client, id) in [(&stopped.client, "after1"), (&second.client, "after2")] {
        wait_until("it answers", || client.try_post(SHOP, &shop_event(id, 2)).is_ok());
        settled(client, &format!("webhook:{id}"));
    }
    let log = || std::fs::read_to_string(workspace.context.home().join("serve.log")).unwrap_or_default();
    wait_until("it was told", || log().contains("taken over by another process"));
    let again = settled(&stopped.client, "webhook:held");
    assert_eq!(again["sends"], receipt["sends"], "{again:#}");
    let contents: Vec<String> = receiver
        .received()
        .into_iter()
        .filter(|reply| reply.event == "webhook:held")
        .map(|reply| reply.content)
        .collect();
    assert_eq!(contents, ["From the second."], "{:?}", workspace.asked());
}

#[test]
fn a_reply_whose_receiver_said_nothing_comes_again_under_the_same_name() {
    let receiver = ReplyReceiver::start(Manners::HangsUpFirst);
    let workspace = workspace(&receiver, |_| Reply::say("Yes."));
    let served = workspace.serve();
    assert!(is_taken(&served.client, "one", 1));
    let receipt = settled(&served.client, "webhook:one");
    assert_eq!(receipt["sends"][0]["attempt"], 2, "{receipt:#}");
    let keys: Vec<String> = receiver.received().into_iter().map(|reply| reply.key).collect();
    assert_eq!(keys.len(), 2, "{keys:?}");
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

/// More replies than are sent to one channel at once.
const MANY_REPLIES: u64 = 20;

#[test]
fn a_channel_that_does_not_answer_holds_up_no_other() {
    let receiver = ReplyReceiver::start(Manners::IsSilent);
    let workspace = workspace(&receiver, |_| Reply::say("Yes."));
    let served = workspace.serve();
    for number in 0..MANY_REPLIES {
        assert!(is_taken(&served.client, &format!("s{number}"), number));
    }
    wait_until("the channel is full", || receiver.received().len() >= 16);
    let event = json!({ "channel": "web", "from": "ann", "peerId": "ann", "id": "w", "content": "and me" });
    assert_eq!(served.client.post("/v1/events", &event).status, 202);
    let receipt = settled(&served.client, "web:w");
    assert_eq!(states(&receipt, "sends"), ["sent"], "{receipt:#}");
    assert_eq!(receiver.received().len(), 16, "no reply is sent again while nothing is known of it");
}

/// How long a hook may take in this test: longer than anything else.
const LONG_DEADLINE: &str = "[extensions.broker]\nhook_timeout_ms = 50000\n";

#[test]
fn hooks_that_hang_keep_no_worker_from_other_events() {
    let workspace = RouteWorkspace::answering(|_| Reply::say("Yes."), LONG_DEADLINE);
    workspace.hook(
        "hangs",
        "export default (event: { content: string }) => { while (event.content === 'hang') {} return null; };\n",
    );
    workspace.hook("all", ALL);
    let served = workspace.serve();
    let post = |from: &str, content: &str| {
        let event = json!({ "channel": "web", "from": from, "peerId": from, "id": from, "content": content });
        assert_eq!(served.client.post("/v1/events", &event).status, 202);
    };
    // As many as there are workers on a small machine, and one more.
    let hanging = ["h1", "h2", "h3"];
    hanging.iter().for_each(|from| post(from, "hang"));
    post("ann", "hello");
    let receipt = settled(&served.client, "web:ann");
    assert_eq!(receipt["hooks"].as_array().map(Vec::len), Some(2), "{receipt:#}");
    for from in hanging {
        let receipt = served.client.get(&format!("/v1/events/web:{from}")).json();
        assert_eq!(receipt["hooks"], json!([]), "nobody waited for a deadline: {receipt:#}");
    }
}

#[test]
fn a_reply_is_signed_for_its_receiver() {
    let receiver = ReplyReceiver::start(Manners::Answers);
    let signed = settings(&receiver).replace("\"none\"", "\"none\"\nsecrets = [\"whsec_cGx1bQ==\"]");
    let workspace = RouteWorkspace::answering(|_| Reply::say("Yes."), &signed);
    workspace.hook("all", ALL);
    let served = workspace.serve();
    assert!(is_taken(&served.client, "one", 1));
    settled(&served.client, "webhook:one");
    let reply = receiver.received().remove(0);
    // The key is what stands behind `whsec_`, in base64: `plum`.
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"plum").unwrap();
    mac.update(reply.signed.as_bytes());
    let expected = base64(&mac.finalize().into_bytes());
    assert_eq!(reply.signature, format!("v1,{expected}"));
}

fn base64(bytes: &[u8]) -> String {
    use std::io::Write as _;
    let mut command = std::process::Command::new("base64");
    let mut child =
        command.arg("-w0").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// What each node of several has.
fn prepare(context: &TestContext, settings: &str) {
    context.write_home("config/dispatch.toml", settings);
    context.write_home("config/hooks/all.ts", ALL);
}

#[test]
fn three_nodes_of_which_one_is_killed_again_and_again_answer_every_event_once() {
    let count = if slow_lane() { SLOW_NODE_EVENTS } else { NODE_EVENTS };
    let (server, receiver) = (PostgresServer::start(), ReplyReceiver::start(Manners::Answers));
    let model = ScriptedModel::answering(|_| Reply::say("Yes."));
    let settings = settings(&receiver);
    let cluster = Cluster::prepared(&model, [server.url(), server.url(), server.url()], |at| prepare(at, &settings));
    let (over, began) = (AtomicBool::new(false), Instant::now());
    let kills = std::thread::scope(|scope| {
        let killing = scope.spawn(|| kill_in_turn(&cluster, &over));
        let send = |sender: u64| {
            let cluster = &cluster;
            scope.spawn(move || {
                let mut random = SeededRandom(sender + 1);
                for number in (0..count).filter(|number| number % NODE_SENDERS == sender) {
                    cluster.deliver(&mut random, SHOP, &shop_event(&format!("n{number}"), number % 10));
                }
            })
        };
        let senders: Vec<_> = (0..NODE_SENDERS).map(send).collect();
        let sent = senders.into_iter().all(|sender| sender.join().is_ok());
        over.store(true, Ordering::Relaxed);
        assert!(sent, "not all events were taken");
        killing.join().expect("the one who kills")
    });
    cluster.restart_missing();
    let open = "SELECT (SELECT count(*) FROM events) - (SELECT count(*) FROM event_routes WHERE state = 'routed')
        + (SELECT count(*) FROM route_dispatches WHERE state = 'waiting')
        + (SELECT count(*) FROM dispatches WHERE state IN ('pending', 'running'))
        + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending'))";
    wait_until("all is over", || server.psql(open) == "0");
    let client = cluster.any_client();
    let receipts = (0..count).map(|number| {
        let event = format!("webhook:n{number}");
        (event.clone(), client.get(&format!("/v1/events/{event}")).json())
    });
    let receipts = receipts.collect();
    let answered = check_replies(&receiver, &receipts);
    assert_eq!(server.psql("SELECT count(*) FROM events"), count.to_string());
    println!(
        "{count} events on three nodes, {kills} kills, {answered} answered, {} posts, {:?}",
        receiver.received().len(),
        began.elapsed()
    );
    assert!(kills > 0 && answered as u64 * 2 > count);
}

fn kill_in_turn(cluster: &Cluster, over: &AtomicBool) -> usize {
    let mut kills = 0;
    while kills == 0 || !over.load(Ordering::Relaxed) {
        std::thread::sleep(NODE_KILLED_EVERY.min(Duration::from_secs(if slow_lane() { 4 } else { 1 })));
        cluster.restart(kills % 3);
        kills += 1;
    }
    kills
}
