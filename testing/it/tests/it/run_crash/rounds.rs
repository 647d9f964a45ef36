//! Random kills: many rounds on one home, each of which must leave everything in order.

use crate::run_workspace::conversation::{calls, times_answered, times_asked};
use crate::run_workspace::{RunWorkspace, alive, wait_until};
use crate::seeded_random::SeededRandom;
use dispatch_contracts::conversation::ResultStatus;
use dispatch_support::{Client, PostgresServer, Recorded, Reply, ScriptedModel, Step, slow_lane};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How many servers are killed in a normal run, and in the slow lane (`DISPATCH_SLOW_TESTS=1`).
const ROUNDS: u64 = 50;
const SLOW_ROUNDS: u64 = 500;
/// The same on a database server, which is slower to start with.
const SERVER_ROUNDS: u64 = 6;
/// With so many rounds some kills come at every moment that tells something.
const TELLING_ROUNDS: u64 = 40;
/// Sessions share the home; each gets a fresh one after a while, so that histories stay short.
const SESSIONS: u64 = 3;
const ROUNDS_PER_SESSION: u64 = 25;
const LINES: &str = "lines.txt";

/// From microseconds to hundreds of milliseconds, each order of magnitude as often as the others.
fn delay(random: &mut SeededRandom) -> Duration {
    let most_micros = [300, 3_000, 30_000, 300_000, 600_000][random.below(5) as usize];
    Duration::from_micros(random.below(most_micros))
}

/// One message, and what is known of it.
struct SentMessage {
    tag: String,
    session: String,
    body: Value,
    /// Known once the server has acknowledged it.
    dispatch: Option<String>,
}

/// What a message makes the model do is in its text, so that the answer is the same however often it is asked.
fn tag_of(request: &Recorded) -> String {
    let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
    let mut texts =
        messages.iter().filter(|message| message["role"] == "user").filter_map(|message| message["content"].as_str());
    let last = texts.next_back().and_then(|text| text.rsplit("<<").next()).unwrap_or_default();
    last.split(">>").next().unwrap_or_default().to_owned()
}

fn answer(request: &Recorded, marker: &str) -> Reply {
    let tag = tag_of(request);
    let messages = request.json()["messages"].as_array().cloned().unwrap_or_default();
    if messages.last().is_some_and(|message| message["role"] == "tool") {
        let steps = [Step::say("done "), Step::SleepMs(5), Step::say(&tag), Step::SleepMs(5), Step::say(" it is")];
        return Reply::steps(steps.into_iter().chain([Step::done()]));
    }
    let line = |name: &str| format!("echo {tag}-{name} >> {LINES}");
    let shell = |command: String| json!({ "command": command });
    let (one, other) = (format!("{tag}-a"), format!("{tag}-b"));
    let kind = tag.rsplit('-').next().unwrap_or_default();
    match kind {
        "append" => Reply::call(&[(&one, "run_shell", shell(line("a")))]),
        "fastslow" => Reply::call(&[
            (&one, "run_shell", shell(line("a"))),
            (&other, "run_shell", shell(format!("sleep 0.2; {}", line("b")))),
        ]),
        "slowfast" => Reply::call(&[
            (&one, "run_shell", shell(format!("sleep 0.2; {}", line("a")))),
            (&other, "run_shell", shell(line("b"))),
        ]),
        "family" => {
            let family = super::family(marker).replace(&format!("sleep {marker}5"), "sleep 0.2");
            Reply::call(&[(&one, "run_shell", shell(format!("{}; {family}", line("a"))))])
        }
        _ => {
            let words = (0..30).flat_map(|word| [Step::say(&format!("word{word} ")), Step::SleepMs(8)]);
            Reply::steps(words.chain([Step::say("done "), Step::say(&tag), Step::done()]))
        }
    }
}

const KINDS: [&str; 5] = ["append", "fastslow", "slowfast", "family", "text"];
const MODES: [&str; 6] = ["followup", "followup", "followup", "steer", "steer", "collect"];

fn message(random: &mut SeededRandom, round: u64, number: u64) -> SentMessage {
    let kind = KINDS[random.below(KINDS.len() as u64) as usize];
    let tag = format!("m{round}x{number}-{kind}");
    let mode = MODES[random.below(MODES.len() as u64) as usize];
    let session = format!("s{}-{}", random.below(SESSIONS), round / ROUNDS_PER_SESSION);
    let body = json!({"text": format!("please <<{tag}>>"), "id": tag, "mode": mode, "ask": "all"});
    SentMessage { tag, session, body, dispatch: None }
}

/// Sends it; an answer that never came leaves open whether it was taken.
fn send(client: &Client, sent: &mut SentMessage) {
    let path = format!("/v1/sessions/{}/messages", sent.session);
    if let Ok(answer) = client.try_post(&path, &sent.body) {
        assert_eq!(answer.status, 202, "{answer:?}");
        let dispatch = answer.json()["dispatch"].as_str().map(str::to_owned);
        assert!(sent.dispatch.is_none() || sent.dispatch == dispatch, "the same id is the same dispatch");
        sent.dispatch = dispatch;
    }
}

/// One round: a server takes messages and is killed at a random moment.
fn round(workspace: &RunWorkspace, random: &mut SeededRandom, number: u64) -> Vec<SentMessage> {
    if random.below(5) == 0 {
        workspace.start_and_kill(delay(random));
    }
    let mut sent: Vec<SentMessage> = (0..=random.below(3)).map(|at| message(random, number, at)).collect();
    let (before, delay) = (random.below(3) == 0, delay(random));
    let mut served = workspace.start();
    let client = served.client.clone();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| sent.iter_mut().for_each(|one| send(&client, one)));
        if !before {
            // Killed while the turns run and not while the messages come in.
            let _ = sending.join();
        }
        std::thread::sleep(delay);
        served.kill();
    });
    sent
}

#[test]
fn random_kills_lose_nothing_and_repeat_nothing() {
    kill_at_random(if slow_lane() { SLOW_ROUNDS } else { ROUNDS }, None);
}

#[test]
fn so_they_do_on_a_database_server() {
    let server = PostgresServer::start();
    kill_at_random(if slow_lane() { SLOW_ROUNDS } else { SERVER_ROUNDS }, Some(&server.url()));
}

fn kill_at_random(rounds: u64, url: Option<&str>) {
    let seed = std::env::var("DISPATCH_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_260_301);
    let mut random = SeededRandom(seed);
    let marker = format!("8{}{}", std::process::id(), u8::from(url.is_some()));
    let own = marker.clone();
    let model = ScriptedModel::answering(move |request| answer(request, &own));
    let storage = url.map(|url| format!("storage.url={url}"));
    let settings = ["tool_dispatch.max_concurrent=4", "extensions.tool-shell.overlap=true"];
    let settings: Vec<&str> = settings.into_iter().chain(storage.as_deref()).collect();
    let workspace = RunWorkspace::new(model, &settings);
    let mut all: Vec<SentMessage> = Vec::new();
    for number in 0..rounds {
        let mut sent = round(&workspace, &mut random, number);
        let served = workspace.start();
        // Whoever got no answer sends again under the same id.
        sent.iter_mut().filter(|one| one.dispatch.is_none()).for_each(|one| send(&served.client, one));
        let place = format!("seed {seed}, round {number}");
        check_round(&workspace, &served.client, &sent, &place);
        wait_until(&format!("{place}: no child is left"), || alive(&marker).is_empty());
        all.extend(sent);
    }
    let served = workspace.start();
    check_round(&workspace, &served.client, &all, &format!("seed {seed}, at the end"));
    workspace.check_requests();
    if rounds >= TELLING_ROUNDS {
        check_coverage(&workspace, &served.client, &all);
    }
}

fn check_round(workspace: &RunWorkspace, client: &Client, sent: &[SentMessage], place: &str) {
    for one in sent {
        let dispatch = one.dispatch.as_deref().unwrap_or_else(|| panic!("{place}: {} was never taken", one.tag));
        let view = client.ended(dispatch);
        let state = view["state"].as_str().unwrap_or_default();
        let history = workspace.history(client, &one.session);
        let asked = times_asked(&history, &format!("<<{}>>", one.tag));
        match state {
            "done" => assert_eq!(asked, 1, "{place}: {} stands in its history once: {view}", one.tag),
            "parked" => assert!(asked <= 1, "{place}: {view}"),
            _ => panic!("{place}: {} was to be answered: {view}", one.tag),
        }
        let answered = times_answered(&history, &format!("done {}", one.tag));
        assert!(answered <= 1, "{place}: {} was answered {answered} times", one.tag);
    }
    let waiting = client.get("/v1/queue").json();
    assert_eq!(waiting["dispatches"], json!([]), "{place}: nothing is stuck");
    check_effects(workspace, client, sent, place);
}

/// What a tool did is what the history says it did.
fn check_effects(workspace: &RunWorkspace, client: &Client, sent: &[SentMessage], place: &str) {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for line in std::fs::read_to_string(workspace.context.project().join(LINES)).unwrap_or_default().lines() {
        *lines.entry(line.to_owned()).or_default() += 1;
    }
    assert!(lines.values().all(|count| *count == 1), "{place}: a call ran twice: {lines:?}");
    let sessions: BTreeSet<&str> = sent.iter().map(|one| one.session.as_str()).collect();
    for session in sessions {
        for (command, status) in calls(&workspace.history(client, session)) {
            let written = command.split("echo ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
            let times = lines.get(written).copied().unwrap_or_default();
            match status {
                ResultStatus::Succeeded => assert_eq!(times, 1, "{place}: {command} ran"),
                ResultStatus::NotRun | ResultStatus::Denied => assert_eq!(times, 0, "{place}: {command} did not run"),
                ResultStatus::Failed | ResultStatus::Unknown => assert!(times <= 1, "{place}: {command}"),
            }
        }
    }
}

/// The kills must have come at moments that tell something.
fn check_coverage(workspace: &RunWorkspace, client: &Client, all: &[SentMessage]) {
    let sessions: BTreeSet<&str> = all.iter().map(|one| one.session.as_str()).collect();
    let statuses: Vec<ResultStatus> = sessions
        .iter()
        .flat_map(|session| calls(&workspace.history(client, session)))
        .map(|(_, status)| status)
        .collect();
    let count = |wanted| statuses.iter().filter(|status| **status == wanted).count();
    assert!(count(ResultStatus::Succeeded) > 5, "hardly any tool ran: {statuses:?}");
    assert!(count(ResultStatus::Unknown) > 2, "hardly any tool was killed: {statuses:?}");
}
