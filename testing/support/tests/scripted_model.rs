//! The scripted model server, in process and as a process of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use dispatch_support::{After, Reply, Script, ScriptedModel, Step};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The raw answer to one request, or what came before the connection broke.
fn ask(port: u16, method: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let body = "{\"a\":1}";
    let request = format!("{method} {path} HTTP/1.1\r\nX-Name: value\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn replies_are_played_in_order_and_requests_remembered() {
    let model = ScriptedModel::playing([Reply::say("a b"), Reply::json(503, &json!({ "error": "busy" }))]);
    let first = ask(model.port(), "POST", "/v1/chat/completions");
    assert!(
        first.starts_with("HTTP/1.1 200 ") && first.contains("data: [DONE]") && first.ends_with("0\r\n\r\n"),
        "{first}"
    );
    assert!(ask(model.port(), "GET", "/v1/models").contains("\"scripted\""), "a list uses up no reply");
    assert!(ask(model.port(), "POST", "/x").starts_with("HTTP/1.1 503 "));
    assert!(ask(model.port(), "POST", "/x").contains("the script is over"));
    let seen = model.requests();
    assert_eq!(seen.len(), 4);
    assert_eq!((seen[0].header("x-name"), seen[0].json()), (Some("value"), json!({ "a": 1 })));
}

#[test]
fn a_cut_reply_has_no_end() {
    let replies = vec![Reply::steps([Step::say("a"), Step::Cut])];
    let model = ScriptedModel::start(Script { replies, after: After::RepeatLast, ..Script::default() });
    for _ in 0..2 {
        let answer = ask(model.port(), "POST", "/x");
        assert!(answer.contains("\"a\"") && !answer.ends_with("0\r\n\r\n"), "{answer}");
    }
}

#[test]
fn the_process_says_its_port_and_writes_down_what_it_was_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (script, log) = (folder.path().join("script.json"), folder.path().join("log.jsonl"));
    let replies = vec![Reply::say("hello"), Reply::steps([Step::SleepMs(1), Step::Reset])];
    let written = serde_json::to_string(&Script { replies, after: After::StartAgain, ..Script::default() }).unwrap();
    std::fs::write(&script, written).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-model"))
        .args([&script, &log])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().parse().unwrap();
    assert!(ask(port, "POST", "/v1/chat/completions").contains("hello"));
    let deadline = Instant::now() + Duration::from_secs(20);
    let logged = loop {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        if text.ends_with('\n') || Instant::now() > deadline {
            break text;
        }
        std::thread::yield_now();
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let first: Value = serde_json::from_str(logged.lines().next().unwrap_or_default()).unwrap();
    assert_eq!(first["path"], "/v1/chat/completions");
}
