//! Checks against a server on loopback that speaks the other side of Bolt, well or badly.

pub(crate) mod server;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Report, check};
use server::{Manner, Server};

const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(200);
const PASSWORD: &str = "canary-pass-word";

fn variable(name: &str) -> Option<String> {
    (name == "GRAPH_PASSWORD").then(|| PASSWORD.to_owned())
}

fn with_login(server: &Server) -> Value {
    json!({"url": format!("bolt://127.0.0.1:{}", server.port()), "user": "neo4j", "passwordEnv": "GRAPH_PASSWORD"})
}

fn asked(manner: Manner, patience: Duration) -> Report {
    let server = Server::start(manner);
    let report = check(&with_login(&server), &variable, patience);
    assert!(!format!("{report:?}").contains(PASSWORD), "{report:?}");
    report
}

fn failure(report: &Report) -> &str {
    assert!(!report.reachable && report.version.is_none(), "{report:?}");
    report.note.as_deref().unwrap_or_default()
}

#[test]
fn a_healthy_server_of_any_version_is_logged_in_to_and_tells_what_it_is() {
    for (major, minor) in [(5, 8), (5, 4), (5, 3), (5, 1), (5, 0), (4, 4), (4, 3), (4, 2), (4, 1), (4, 0)] {
        let report = asked(Manner::Healthy { major, minor, password: PASSWORD }, PATIENCE);
        let version = Some(format!("Neo4j/{major}.{minor}.0"));
        assert_eq!(report, Report { reachable: true, version, note: None });
    }
}

#[test]
fn without_a_login_the_protocol_is_all_that_is_asked() {
    let server = Server::start(Manner::Healthy { major: 5, minor: 4, password: PASSWORD });
    let section = json!({"url": format!("neo4j://localhost:{}", server.port())});
    let report = check(&section, &variable, PATIENCE);
    assert_eq!((report.reachable, report.version.as_deref()), (true, Some("Bolt/5.4")));
    assert!(report.note.unwrap_or_default().contains("without `user`"));
    assert_eq!(server.messages(), 0);
}

#[test]
fn a_tls_address_is_connected_to_and_nothing_more() {
    let server = Server::start(Manner::Silent);
    let section = json!({"url": format!("bolt+s://127.0.0.1:{}", server.port())});
    let report = check(&section, &variable, PATIENCE);
    assert_eq!((report.reachable, &report.version), (true, &None));
    assert!(report.note.unwrap_or_default().contains("TLS"));
}

#[test]
fn a_wrong_password_is_a_refusal_with_its_code_alone() {
    for (major, minor) in [(5, 4), (4, 4)] {
        let report = asked(Manner::Healthy { major, minor, password: "another" }, PATIENCE);
        assert_eq!(failure(&report), "it refused: Neo.ClientError.Security.Unauthorized");
    }
}

#[test]
fn a_server_that_echoes_the_password_does_not_get_it_shown() {
    let report = asked(Manner::Echoing, PATIENCE);
    assert!(report.reachable);
}

#[test]
fn servers_that_are_something_else_are_named() {
    let cases = [
        (Manner::Answers(&[0, 0, 0, 0]), "it speaks no version of Bolt from 4.0 to 5.8"),
        (Manner::Answers(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "it speaks HTTP; the address must name its Bolt port"),
        (Manner::Answers(b"\xde\xad\xbe\xef garbage"), "it does not speak Bolt"),
        (Manner::Answers(&[0, 0, 0, 3]), "it does not speak Bolt"),
        (Manner::Answers(&[0, 0, 4, 5, 0, 3, 1, 2, 3, 0, 0]), "it answered with something that is not Bolt"),
        (Manner::Answers(&[0, 0, 4, 5, 0, 2, 0xB0, 0x7E, 0, 0]), "it answered with something that is not Bolt"),
        (Manner::Answers(&[0, 0]), "it closed the connection"),
        (Manner::Answers(&[]), "it closed the connection"),
        (Manner::ClosesAfter { messages: 1 }, "it closed the connection"),
        (Manner::ClosesAfter { messages: 3 }, "it closed the connection"),
        (Manner::Counts(2), "it answered with something that is not Bolt: one is not one"),
    ];
    for (manner, expected) in cases {
        let name = format!("{manner:?}");
        let report = asked(manner, PATIENCE);
        assert!(failure(&report).starts_with(expected), "{name}: {report:?}");
    }
}

#[test]
fn an_endless_message_is_cut_off() {
    let report = asked(Manner::Floods, PATIENCE);
    assert_eq!(failure(&report), "it answered with something that is not Bolt: a message is too long");
}

#[test]
fn a_server_that_says_nothing_or_next_to_nothing_is_given_up_at_the_deadline() {
    for manner in [Manner::Silent, Manner::Drips, Manner::KeepsAlive] {
        let name = format!("{manner:?}");
        let before = Instant::now();
        let report = asked(manner, SHORT);
        assert_eq!(failure(&report), "it did not answer in time", "{name}");
        // The deadline is the feature; the margin is for a machine that does other things too.
        assert!(before.elapsed() >= SHORT && before.elapsed() < Duration::from_secs(10), "{name}");
    }
}

#[test]
fn a_port_where_nobody_listens_is_told_at_once() {
    let section = |port: u16| json!({"url": format!("bolt://127.0.0.1:{port}")});
    let report = check(&section(server::closed_port()), &variable, PATIENCE);
    assert_eq!(failure(&report), "it could not be connected to: connection refused");
}

#[test]
fn what_is_missing_is_told_before_anything_is_connected_to() {
    let server = Server::start(Manner::Silent);
    let mut section = with_login(&server);
    section["passwordEnv"] = json!("NOT_SET");
    let report = check(&section, &variable, PATIENCE);
    assert_eq!(failure(&report), "the variable `NOT_SET` that `passwordEnv` names is not set");
    section["password"] = json!(PASSWORD);
    let report = check(&section, &variable, PATIENCE);
    assert!(failure(&report).contains("holds a password") && !format!("{report:?}").contains(PASSWORD));
    assert_eq!(server.connections(), 0);
}
