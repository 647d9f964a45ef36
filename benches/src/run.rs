//! What our own agent costs: start, memory, tokens, steps, turns and history, through the shipped binary.

mod peers;

use crate::process::{dispatch, find, resident_kb};
use crate::sample::Samples;
use crate::served_project::ServedProject;
use crate::{raw_commits, row, table};
use anyhow::{Context as _, Result, ensure};
use dispatch_support::{After, Client, Reply, Script, ScriptedModel, Step};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const STARTS: u32 = 20;
const CHATS: u32 = 10;
const TURNS: u32 = 1_000;
const TOKENS: usize = 2_000;
const STEPS: usize = 30;
/// Sessions that take turns at once when durable turns are counted, and turns of each.
const WRITERS: u32 = 16;
const TURNS_OF_WRITER: u32 = 50;
/// Turns and calls in each that together leave a session of ten thousand messages: one of the user, two of the model,
/// and the results.
const WIDE_TURNS: u32 = 100;
const CALLS_OF_WIDE_TURN: u32 = 97;
/// Requests that the server remembers; a long session would fill the memory otherwise.
const REMEMBERED: usize = 1;

pub(crate) fn run() -> Result<()> {
    let program = dispatch()?;
    let mut rows = vec![row!["what", "best", "median", "wanted"]];
    rows.push(row!["release binary", size(&program)?, "", "under 40 MB"]);
    rows.extend(starts(&program)?);
    rows.extend(steps(&program)?);
    rows.extend(one_session(&program)?);
    rows.extend(durable(&program)?);
    table::print(&rows);
    println!("\nBeside the agents of others that are installed:\n");
    table::print(&peers::table(&program)?);
    Ok(())
}

fn size(program: &Path) -> Result<String> {
    Ok(format!("{:.1} MB", std::fs::metadata(program)?.len() as f64 / 1e6))
}

fn milliseconds(samples: &Samples) -> [String; 2] {
    [samples.best_us(), samples.median_us()].map(|us| format!("{:.1} ms", us / 1e3))
}

/// A server that says the same every time.
fn saying(reply: Reply) -> ScriptedModel {
    let script = Script { replies: vec![reply], after: After::RepeatLast, keep: REMEMBERED, ..Script::default() };
    ScriptedModel::start(script)
}

fn starts(program: &Path) -> Result<Vec<Vec<String>>> {
    let model = saying(Reply::say("hello there"));
    let project = ServedProject::new(program, &model)?;
    let (mut ready, mut idle_kb) = (Samples::default(), Vec::new());
    for _ in 0..STARTS {
        let start = Instant::now();
        let served = project.serve()?;
        ready.add(start.elapsed());
        std::thread::sleep(Duration::from_millis(200));
        idle_kb.push(resident_kb(served.id())?);
    }
    let mut first = Samples::default();
    for _ in 0..CHATS {
        first.add(project.time_to_first_byte(&["chat", "hello"])?);
    }
    let [best, median] = milliseconds(&ready);
    let [first_best, first_median] = milliseconds(&first);
    idle_kb.sort_unstable();
    let megabytes = |kb: Option<&u64>| kb.map_or("-".to_owned(), |kb| format!("{:.1} MB", *kb as f64 / 1024.0));
    Ok(vec![
        row!["`serve` to ready", best, median, "under 45 ms"],
        row!["`chat` to the first byte of a reply", first_best, first_median, ""],
        row![
            "resident memory, idle",
            megabytes(idle_kb.first()),
            megabytes(idle_kb.get(idle_kb.len() / 2)),
            "under 32 MB"
        ],
    ])
}

/// The time between one model request and the next, with a shell command that does nothing in between.
fn steps(program: &Path) -> Result<Vec<Vec<String>>> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&asked);
    let model = ScriptedModel::answering(move |request| {
        let at = Instant::now();
        let results = request.body.matches("\"tool_call_id\"").count();
        if let Ok(mut times) = times.lock() {
            times.push(at);
        }
        let command = json!({ "command": format!("true {results}") });
        if results < STEPS {
            Reply::call(&[(&format!("c{results}"), "run_shell", command)])
        } else {
            Reply::say("done")
        }
    });
    let project = ServedProject::new(program, &model)?;
    let served = project.serve()?;
    served.client.say("steps", "go");
    let times = asked.lock().map(|times| times.clone()).unwrap_or_default();
    ensure!(times.len() == STEPS + 1, "{} requests", times.len());
    let mut between = Samples::default();
    times.windows(2).for_each(|pair| between.add(pair[1] - pair[0]));
    let bash = find("bash").context("bash")?;
    let alone = Samples::of(STEPS as u32, || {
        let _ = std::process::Command::new(&bash).args(["-c", "true"]).output();
    });
    let ([best, median], [bare, bare_median]) = (milliseconds(&between), milliseconds(&alone));
    Ok(vec![
        row!["one step: a request, `true` in a shell, the next request", best, median, "under 25 ms"],
        row!["(`bash -c true` alone)", bare, bare_median, ""],
    ])
}

/// How long a turn takes from the message to its end.
fn turn(client: &Client, session: &str) -> Duration {
    let start = Instant::now();
    client.say(session, "again");
    start.elapsed()
}

fn play(client: &Client, session: &str, turns: u32) {
    for _ in 0..turns {
        turn(client, session);
    }
}

/// What a token costs, as the difference between a long reply and a short one.
fn token_us(project: &ServedProject, session: &str) -> Result<f64> {
    let words = (0..TOKENS).map(|_| Step::say("word ")).chain([Step::done()]);
    let (short, long) = (saying(Reply::say("word")), saying(Reply::steps(words)));
    let timed = |model: &ScriptedModel| -> Result<f64> {
        let served = project.serve_with(model)?;
        turn(&served.client, session);
        let samples: Vec<Duration> = (0..5).map(|_| turn(&served.client, session)).collect();
        Ok(samples.iter().min().map_or(f64::NAN, |best| best.as_secs_f64() * 1e6))
    };
    Ok((timed(&long)? - timed(&short)?) / TOKENS as f64)
}

/// One session that grows: what a token costs at its ends, memory, and reading it.
fn one_session(program: &Path) -> Result<Vec<Vec<String>>> {
    let model = saying(Reply::say("a short answer to that"));
    let project = ServedProject::new(program, &model)?;
    let fresh_us = token_us(&project, "fresh")?;
    let served = project.serve()?;
    play(&served.client, "long", TURNS);
    let after = resident_kb(served.id())? as f64 / 1024.0;
    let grown_us = token_us(&project, "long")?;
    drop(served);
    let (read, heavy) = ten_thousand_messages(&project)?;
    let [best, median] = milliseconds(&read);
    Ok(vec![
        row!["a streamed token, new session", format!("{fresh_us:.1} us"), "", ""],
        row![format!("a streamed token after {TURNS} turns"), format!("{grown_us:.1} us"), "", "the same"],
        row![format!("resident memory after {TURNS} turns"), format!("{after:.1} MB"), "", ""],
        row!["reading a session of 10,000 messages", best, median, ""],
        row!["resident memory after writing and reading them", format!("{heavy:.1} MB"), "", ""],
    ])
}

/// How long it takes to read a session of that many messages, and the memory of who wrote and read them.
fn ten_thousand_messages(project: &ServedProject) -> Result<(Samples, f64)> {
    let calls = AtomicU32::new(0);
    let model = ScriptedModel::answering(move |request| {
        let asked = request.body.rfind(r#""role":"user""#) > request.body.rfind(r#""role":"tool""#);
        if !asked {
            return Reply::say("read");
        }
        let first = calls.fetch_add(CALLS_OF_WIDE_TURN, Ordering::Relaxed);
        let batch: Vec<_> = (first..first + CALLS_OF_WIDE_TURN)
            .map(|call| (format!("c{call}"), "list_files", json!({ "path": "." })))
            .collect();
        let batch: Vec<_> = batch.iter().map(|(id, tool, input)| (id.as_str(), *tool, input.clone())).collect();
        Reply::call(&batch)
    });
    let served = project.serve_with(&model)?;
    play(&served.client, "wide", WIDE_TURNS);
    let messages = served.client.get("/v1/sessions/wide/messages").json();
    let count = messages["messages"].as_array().map_or(0, Vec::len);
    // The results of a step are one message here, and one each where a model counts.
    ensure!(count == 4 * WIDE_TURNS as usize, "the session has {count} messages");
    let read = Samples::of(10, || drop(served.client.get("/v1/sessions/wide/messages")));
    Ok((read, resident_kb(served.id())? as f64 / 1024.0))
}

/// Whole turns per second against what SQLite can commit on the same disk.
fn durable(program: &Path) -> Result<Vec<Vec<String>>> {
    let model = saying(Reply::say("yes"));
    let project = ServedProject::new(program, &model)?;
    let served = project.serve()?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let client = served.client.clone();
            scope.spawn(move || play(&client, &format!("w{writer}"), TURNS_OF_WRITER));
        }
    });
    let rate = f64::from(WRITERS * TURNS_OF_WRITER) / start.elapsed().as_secs_f64();
    let raw = raw_commits::per_second(project.folder()).map_or("-".to_owned(), |rate| format!("{rate:.0}"));
    Ok(vec![
        row![format!("durable turns per second, {WRITERS} sessions at once"), format!("{rate:.0}"), "", ""],
        row!["(SQLite: single commits per second on the same disk)", raw, "", ""],
    ])
}
