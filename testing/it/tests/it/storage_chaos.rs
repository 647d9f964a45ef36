//! Several processes on one PostgreSQL while everything goes wrong: processes are killed and stopped, the database
//! crashes, a clock is wrong, the answers of commits are lost. Nothing is lost, nothing is answered twice, and no side
//! effect is repeated.

pub(crate) mod cluster;
mod lossy_proxy;
mod outcome;

use cluster::{CLOCK_OFF, Cluster};
use dispatch_support::{PostgresServer, Recorded, Reply, ScriptedModel, slow_lane};
use lossy_proxy::LossyProxy;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How much is played, and how often something goes wrong.
const SESSIONS: u64 = 40;
const MESSAGES: u64 = 5_000;
/// Plays another number of messages.
const MESSAGES_VARIABLE: &str = "DISPATCH_SLOW_MESSAGES";
const SENDERS: u64 = 20;
/// A killed process leaves its sessions to the others when its leases have run out: not so often that all wait.
const KILL_EVERY: Duration = Duration::from_secs(7);
const LOST_COMMIT_EVERY: u64 = 150;
/// Longer than a lease.
const STOPPED_FOR: Duration = Duration::from_secs(18);
const MOST_STOPS: u32 = 3;

/// Each message names a line that the agent appends to a file, in the shell.
fn answer(request: &Recorded) -> Reply {
    let body = request.json();
    let last = body["messages"].as_array().and_then(|messages| messages.last()).cloned().unwrap_or_default();
    let text = last["content"].as_str().unwrap_or_default();
    match text.strip_prefix("append ") {
        Some(line) if last["role"] == "user" => {
            let command = format!("echo {line} >> effects");
            Reply::call(&[(&format!("call-{line}"), "run_shell", json!({ "command": command }))])
        }
        _ => Reply::say("done"),
    }
}

/// Only in the slow lane: leases have to run out again and again.
#[test]
fn three_nodes_lose_nothing_answer_nothing_twice_and_repeat_no_side_effect() {
    if !slow_lane() {
        return;
    }
    let messages = std::env::var(MESSAGES_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(MESSAGES);
    let began = Instant::now();
    let mut server = PostgresServer::start();
    let proxy = LossyProxy::start(&server, LOST_COMMIT_EVERY);
    let model = ScriptedModel::answering(answer);
    let cluster = Cluster::new(&model, [proxy.url(), server.url(), server.url()]);
    let over = AtomicBool::new(false);
    let (mut kills, mut stops, mut crashes) = (0, 0, 0);
    std::thread::scope(|scope| {
        let killing = scope.spawn(|| kill_now_and_then(&cluster, KILL_EVERY, &over));
        let stopping = scope.spawn(|| stop_now_and_then(&cluster, &over));
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let cluster = &cluster;
                scope.spawn(move || cluster.send_all(sender, SENDERS, SESSIONS, messages))
            })
            .collect();
        for part in 1..=2 {
            while cluster.delivered() < part * messages / 3 && !senders.iter().any(|it| it.is_finished()) {
                std::thread::sleep(Duration::from_millis(20));
            }
            server.crash();
            server.resume();
            crashes += 1;
        }
        let sent: Vec<_> = senders.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::Relaxed);
        assert!(sent.iter().all(Result::is_ok), "not all messages were taken");
        kills = killing.join().expect("the one who kills");
        stops = stopping.join().expect("the one who stops");
    });
    cluster.restart_missing();
    outcome::wait_for_the_end(&server, Duration::from_secs(180));
    let lost = proxy.lost();
    let told = outcome::check(&server, &cluster.project(), messages);
    println!(
        "{messages} messages in {SESSIONS} sessions, {kills} kills, {stops} stops of {STOPPED_FOR:?}, {crashes} crashes of the database, {lost} lost \
         answers, a clock {CLOCK_OFF} off: {told}; {:?}",
        began.elapsed()
    );
    assert!(kills > 0 && lost > 0, "{kills} kills and {lost} lost answers prove nothing");
    assert!(stops > 0, "nobody was stopped");
}

/// Kills one process after the other, until all is sent.
fn kill_now_and_then(cluster: &Cluster, every: Duration, over: &AtomicBool) -> u32 {
    let mut kills = 0;
    while kills == 0 || !over.load(Ordering::Relaxed) {
        std::thread::sleep(every);
        cluster.restart(kills as usize % 3);
        kills += 1;
    }
    kills
}

/// Stops a process for longer than its leases last, a few times.
fn stop_now_and_then(cluster: &Cluster, over: &AtomicBool) -> u32 {
    let mut stops = 0;
    while stops < MOST_STOPS && !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(5));
        if cluster.stop_for((stops as usize + 1) % 3, STOPPED_FOR) {
            stops += 1;
        }
    }
    stops
}
