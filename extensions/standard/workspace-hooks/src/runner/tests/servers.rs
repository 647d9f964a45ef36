//! A real server on loopback: what it is sent, and what its answers mean.

use super::runner_host::{CANARY, RunnerHost, failure, run};
use crate::contract::{Action, Runner, Usage};
use crate::run_executor::{RetryAdvice, RunEnd};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// What a server was sent: the head, and the body.
type ReceivedRequest = (String, Value);

/// Answers each connection with the next of these, then stops.
fn server(answers: Vec<String>) -> (String, Receiver<ReceivedRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/hook?key={CANARY}", listener.local_addr().unwrap());
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line == "\r\n" {
                    break;
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            tell.send((head, serde_json::from_slice(&body).unwrap())).unwrap();
            // A client that has heard enough closes early.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, told)
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn host(url: &str, headers: &[(&str, &str)]) -> RunnerHost {
    let mut host = RunnerHost::new();
    host.hook.action = Action::Prompt(format!("look at {{file}} with {CANARY}"));
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    host.hook.runner = Runner::Http { url: url.to_owned(), headers: headers.collect::<BTreeMap<_, _>>() };
    host.about("src/a.rs");
    host
}

#[test]
fn a_server_gets_prompt_event_and_headers() {
    let (url, told) =
        server(vec![answer("200 OK", r#"{"output": "all good", "usage": {"tokens": 12, "microUsd": 3}}"#)]);
    let result = run(host(&url, &[("authorization", "Bearer ${CARGO_PKG_NAME}"), ("x-plain", "yes")]).execute());
    assert_eq!((result.end, result.output.as_str()), (RunEnd::Success, "all good"));
    assert_eq!(result.usage, Usage { tokens: 12, micro_usd: 3 });
    let (head, body) = told.recv().unwrap();
    assert!(
        head.starts_with("POST /hook?key=") && head.contains("authorization: Bearer ext-workspace-hooks"),
        "{head}"
    );
    assert!(head.contains("x-plain: yes") && head.contains("content-type: application/json"), "{head}");
    assert_eq!(body["prompt"], "look at src/a.rs with [REDACTED]");
    assert_eq!(
        (body["event"]["hookId"].as_str(), body["event"]["files"][0]["kind"].as_str()),
        (Some("check"), Some("changed"))
    );
}

#[test]
fn answers_are_judged_by_their_number() {
    for (status, expected) in [
        ("500 Oops", RetryAdvice::Worthwhile),
        ("503 Later", RetryAdvice::Worthwhile),
        ("429 Slow", RetryAdvice::Worthwhile),
        ("408 Slow", RetryAdvice::Worthwhile),
        ("400 Bad", RetryAdvice::Useless),
        ("401 Who", RetryAdvice::Useless),
        ("404 Gone", RetryAdvice::Useless),
    ] {
        let (url, _told) = server(vec![answer(status, &format!("because of {CANARY}"))]);
        let result = run(host(&url, &[]).execute());
        let (reason, again) = failure(&result);
        assert_eq!(again, expected, "{status}");
        assert!(reason.contains(&status[..3]) && !format!("{result:?}").contains(CANARY), "{result:?}");
        assert_eq!(result.output, "because of [REDACTED]");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let (elsewhere, other) = server(vec![answer("200 OK", "taken")]);
    let moved =
        format!("HTTP/1.1 307 Moved\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    let (url, _told) = server(vec![moved]);
    let result = run(host(&url, &[]).execute());
    assert_eq!(failure(&result).1, RetryAdvice::Useless);
    assert!(other.try_recv().is_err(), "nothing went elsewhere");
}

#[test]
fn a_server_that_is_not_there_may_come_back() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x?key={CANARY}", closed.local_addr().unwrap());
    drop(closed);
    let result = run(host(&url, &[]).execute());
    assert_eq!(failure(&result).1, RetryAdvice::Worthwhile);
    assert!(!format!("{result:?}").contains(CANARY), "{result:?}");
}

#[test]
fn what_cannot_be_sent_is_said_without_its_value() {
    for (url, headers, word) in [
        ("http://example.org/x", &[][..], "https://"),
        ("not an address", &[], "address"),
        ("http://127.0.0.1:9/x", &[("x", "${DISPATCH_TEST_NEVER_SET}")], "DISPATCH_TEST_NEVER_SET"),
        ("http://127.0.0.1:9/x", &[("bad name", "v")], "bad name"),
    ] {
        let result = run(host(url, headers).execute());
        let (reason, again) = failure(&result);
        assert!(reason.contains(word), "{reason}");
        assert_eq!(again, RetryAdvice::Useless, "{url}");
    }
}

#[test]
fn a_long_answer_is_cut_and_a_silent_server_given_up() {
    let (url, _told) = server(vec![answer("200 OK", &"x".repeat(3 * 1024 * 1024))]);
    let result = run(host(&url, &[]).execute());
    assert_eq!(result.end, RunEnd::Success);
    assert!(result.output.len() <= 256 * 1024 && result.output.contains("bytes left out"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut waiting = host(&format!("http://{}/x", silent.local_addr().unwrap()), &[]);
    waiting.hook.timeout_ms = 300;
    assert_eq!(run(waiting.execute()).end, RunEnd::Timeout);
}
