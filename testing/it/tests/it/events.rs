//! The timeline and the reasons: what happened, in order, and why.

use crate::agent::{ABC, Agent};
use dispatch_support::TestContext;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

fn records(text: &str) -> Vec<Value> {
    let record = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
    text.lines().map(record).collect()
}

#[test]
fn every_hook_event_is_one_run_in_the_timeline() {
    let context = TestContext::new();
    let one = Agent::new(&context, "abc");
    let other = Agent::new(&context, "def");
    one.prompt("clean up");
    other.prompt("something else");
    one.command("1", "ls -la");
    one.edit_rules("2");
    other.fire("Stop", &json!({}));

    let all = records(&context.dispatch(&["events", "--json"]).stdout);
    let runs: Vec<&Value> = all.iter().filter(|record| record["type"] == "HOOK_RUN").collect();
    let seen: Vec<(&str, &str)> =
        runs.iter().map(|run| (run["event"].as_str().unwrap(), run["decision"].as_str().unwrap())).collect();
    let expected = [
        ("UserPromptSubmit", "allow"),
        ("UserPromptSubmit", "allow"),
        ("PreToolUse", "allow"),
        ("PreToolUse", "ask"),
        ("Stop", "allow"),
    ];
    assert_eq!(seen, expected, "two sessions, one order");
    assert!(runs.iter().all(|run| run["ms"].is_number() && run["hookRunId"].is_string()));
    let times: Vec<&str> = all.iter().map(|record| record["ts"].as_str().unwrap()).collect();
    assert!(times.is_sorted());

    let text = context.dispatch(&["events"]).stdout;
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows.iter().any(|row| row.contains("allow") && row.ends_with("Bash: ls -la")), "{text}");
    assert!(rows.iter().any(|row| row.contains("ask SG01") && row.ends_with("Write: .ai/hooks/config.json")), "{text}");
    assert!(rows.iter().any(|row| row.ends_with("PROMPT: clean up [session]")), "{text}");
}

#[test]
fn the_timeline_can_be_narrowed() {
    let context = TestContext::new();
    Agent::new(&context, "def").prompt("first");
    let agent = Agent::new(&context, "abc");
    for id in ["1", "2", "3"] {
        agent.command(id, "ls");
    }
    let stored = std::fs::read(context.project().join(format!(".ai/tmp/{ABC}/events.jsonl"))).unwrap();
    let own = context.dispatch(&["events", "--json", "--session", "ba78"]).stdout;
    assert_eq!(
        own.as_bytes(),
        String::from_utf8_lossy(&stored).replace(&*project(&context), "[TEST]/project").as_bytes()
    );
    let last = context.dispatch(&["events", "--limit", "2"]);
    assert_eq!(last.stdout.lines().filter(|row| row.contains(ABC)).count(), 2, "{last:?}");
    assert!(last.stderr.contains("showing the newest 2;"), "{last:?}");
    assert_eq!(context.dispatch(&["events", "--json", "--since", "1h"]).stdout.lines().count(), {
        context.dispatch(&["events", "--json"]).stdout.lines().count()
    });
    assert_eq!(context.dispatch(&["events", "--session", "zz"]).status, 2);
    assert_eq!(context.dispatch(&["events", "--since", "soon"]).status, 2);
}

fn project(context: &TestContext) -> String {
    context.project().display().to_string()
}

#[test]
fn what_is_no_record_is_left_out_and_counted() {
    let context = TestContext::new();
    Agent::new(&context, "abc").command("1", "ls");
    let file = context.project().join(format!(".ai/tmp/{ABC}/events.jsonl"));
    let mut log = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    log.write_all(b"not json\n\xff\xfe\n{\"v\":1}\n{\"torn\": ").unwrap();
    for arguments in [&["events"][..], &["events", "--json"]] {
        let output = context.dispatch(arguments);
        assert_eq!(output.status, 0);
        assert!(output.stderr.contains("skipped 3 lines that are not records"), "{output:?}");
        assert!(!output.stdout.contains("torn") && !output.stdout.contains("not json"), "{output:?}");
    }
    assert_eq!(context.dispatch(&["why", "last"]).status, 0);
}

#[test]
fn an_empty_workspace_is_no_error() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["events"]).stdout, "no events yet\n");
    assert_eq!(context.dispatch(&["events", "--json"]).stdout, "");
    assert_eq!(context.dispatch(&["why", "last"]).status, 2);
}

#[test]
fn following_shows_new_events_of_old_and_new_sessions() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    agent.command("1", "echo first");
    let mut child = context
        .command("dispatch")
        .args(["events", "--follow"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the executable starts");
    let rows = rows_of(child.stdout.take().expect("a pipe"));
    let wait_for = |text: &str| {
        let deadline = Instant::now() + FOLLOW_DEADLINE;
        while let Ok(row) = rows.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if row.contains(text) {
                return true;
            }
        }
        false
    };
    assert!(wait_for("echo first"));
    agent.command("2", "echo second");
    assert!(wait_for("echo second"));
    Agent::new(&context, "def").command("3", "echo third");
    assert!(wait_for("echo third"));
    std::fs::remove_file(context.project().join(format!(".ai/tmp/{ABC}/events.jsonl"))).unwrap();
    agent.command("4", "echo fourth");
    assert!(wait_for("echo fourth"));
    drop(rows);
    // The reader notices with one row that nobody listens to it, and the follower with a later one.
    let deadline = Instant::now() + FOLLOW_DEADLINE;
    for id in 5.. {
        agent.command(&id.to_string(), "echo more");
        if let Some(status) = child.try_wait().expect("it can be asked") {
            assert!(status.success());
            break;
        }
        assert!(Instant::now() < deadline, "nobody reads any more");
    }
}

/// How long a follower may take to show what happened, or to notice that nobody reads.
const FOLLOW_DEADLINE: Duration = Duration::from_secs(30);

/// The rows as they come; the pipe is closed once nobody wants the next one.
fn rows_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, rows) = channel();
    std::thread::spawn(move || {
        for row in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(row).is_err() {
                return;
            }
        }
    });
    rows
}

#[test]
fn why_names_the_module_the_rule_and_the_ways_out() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    agent.edit_rules("1");
    let why = context.dispatch(&["why", "last", "--json"]).json();
    assert_eq!(why["decision"], "ask");
    assert_eq!(why["decidedBy"], "self-guard");
    assert_eq!(why["code"], "SG01");
    assert_eq!(why["tool"]["paths"][0]["access"], "write");
    assert_eq!(why["redelivered"], false);
    assert!(why["modules"].as_array().unwrap().iter().all(|module| module["ms"].is_number()));
    assert!(why["remedies"].to_string().contains("dispatch allow-once SG01"), "{why}");

    let text = context.dispatch(&["why", "last"]).stdout;
    for part in ["the user is asked by self-guard (SG01)", "paths      write .ai/hooks/config.json", "to change  "] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn why_finds_a_run_by_any_id_and_tells_a_second_delivery() {
    let context = TestContext::new();
    let agent = Agent::new(&context, "abc");
    agent.edit_rules("1");
    let first = context.dispatch(&["why", "last", "--json"]).json();
    agent.edit_rules("1");
    let again = context.dispatch(&["why", "last", "--json"]).json();
    assert_eq!(again["redelivered"], true);
    assert_eq!(again["first"], first["hookRunId"]);
    assert_eq!(again["decidedBy"], "self-guard", "told of the first delivery");

    let by_record = context.dispatch(&["why", first["id"].as_str().unwrap(), "--json"]).json();
    assert_eq!(by_record["hookRunId"], first["hookRunId"]);
    let many = context.dispatch(&["why", "PreToolUse"]);
    assert!(many.status == 2 && many.stderr.contains("is ambiguous: 2 events match"), "{many:?}");
    assert_eq!(context.dispatch(&["why", "nothing-like-it"]).status, 2);
}
