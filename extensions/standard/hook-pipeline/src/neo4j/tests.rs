//! Checks against a real listener on loopback that answers the handshake, well or badly.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{ProbeReport, probe};

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);
/// The answer of a server that chose Bolt 5.4.
pub(crate) const BOLT_5_4: &[u8] = &[0, 0, 4, 5];

/// A listener that sends the same bytes to whoever connects; its thread ends with the test process.
pub(crate) struct AnsweringListener {
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
}

impl AnsweringListener {
    /// Answers with `answer`. With an empty answer it keeps the connection open and says nothing.
    pub(crate) fn start(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    let _ = stream.write_all(answer);
                    if !answer.is_empty() {
                        let _ = stream.shutdown(std::net::Shutdown::Write);
                    }
                    // Read to the end, so that closing does not reset what was just sent.
                    let _ = stream.read_to_end(&mut Vec::new());
                });
            }
        });
        Self { port, connections }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn section(&self) -> Value {
        json!({"url": format!("bolt://127.0.0.1:{}", self.port)})
    }
}

/// A port where nothing listens.
pub(crate) fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn failure(report: &ProbeReport) -> &str {
    assert!(!report.reachable && report.version.is_none(), "{report:?}");
    report.note.as_deref().unwrap_or_default()
}

#[test]
fn a_server_of_any_offered_version_is_reachable() {
    let answers: [(&'static [u8], &str); 3] =
        [(&[0, 0, 8, 5], "Bolt/5.8"), (BOLT_5_4, "Bolt/5.4"), (&[0, 0, 0, 4], "Bolt/4.0")];
    for (answer, version) in answers {
        let report = probe(&AnsweringListener::start(answer).section(), LONG);
        assert_eq!(report, ProbeReport { reachable: true, version: Some(version.to_owned()), note: None });
    }
}

#[test]
fn the_server_is_sent_the_handshake_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(BOLT_5_4).unwrap();
        let mut sent = Vec::new();
        stream.read_to_end(&mut sent).unwrap();
        sent
    });
    let section = json!({"url": format!("neo4j://localhost:{port}"), "user": "neo4j", "passwordEnv": "NOT_SET"});
    let report = probe(&section, LONG);
    assert_eq!((report.reachable, report.version.as_deref()), (true, Some("Bolt/5.4")));
    assert!(report.note.unwrap_or_default().contains("`user` and `passwordEnv` are not used"));
    assert_eq!(server.join().unwrap(), super::bolt::handshake());
}

#[test]
fn a_tls_address_is_connected_to_and_nothing_more() {
    let listener = AnsweringListener::start(b"");
    let report = probe(&json!({"url": format!("bolt+s://127.0.0.1:{}", listener.port)}), LONG);
    assert_eq!((report.reachable, &report.version), (true, &None));
    assert!(report.note.unwrap_or_default().contains("TLS is not supported"));
}

#[test]
fn servers_that_are_something_else_are_named() {
    let cases: [(&'static [u8], &str); 5] = [
        (&[0, 0, 0, 0], "the server supports none of the Bolt versions 4.0 to 5.8"),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            "the server speaks HTTP; `url` must name its Bolt port (7687 by default)",
        ),
        (b"\xde\xad\xbe\xef garbage", "the server does not speak Bolt"),
        (&[0, 0, 0, 3], "the server does not speak Bolt"),
        (&[0, 0], "the server closed the connection"),
    ];
    for (answer, expected) in cases {
        assert_eq!(failure(&probe(&AnsweringListener::start(answer).section(), LONG)), expected);
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up_at_the_deadline() {
    let listener = AnsweringListener::start(b"");
    let before = Instant::now();
    assert_eq!(failure(&probe(&listener.section(), SHORT)), "timed out after 200 ms");
    // The deadline is the feature; the margin is for a machine that does other things too.
    assert!(before.elapsed() >= SHORT && before.elapsed() < LONG);
}

#[test]
fn a_closed_port_is_reported_at_once() {
    let section = json!({"url": format!("bolt://127.0.0.1:{}", closed_port())});
    assert_eq!(failure(&probe(&section, LONG)), "cannot connect: connection refused");
}

#[test]
fn an_invalid_section_is_reported_before_anything_is_connected_to() {
    let listener = AnsweringListener::start(BOLT_5_4);
    let mut section = listener.section();
    section["password"] = json!("canary-pass-word");
    let report = probe(&section, LONG);
    assert!(failure(&report).contains("remove the key `password`") && !format!("{report:?}").contains("canary"));
    assert_eq!(listener.connections(), 0);
}
