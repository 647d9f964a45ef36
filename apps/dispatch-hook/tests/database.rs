//! The check of the graph database by the real executable: its password is neither sent nor shown.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const PASSWORD: &str = "canary-of-the-graph";
const LONG: Duration = Duration::from_secs(20);
const HANDSHAKE_BYTES: usize = 20;

/// A listener that chooses Bolt 4.4 and tells the test what it was sent until the connection closed.
fn bolt_listener() -> (u16, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.write_all(&[0, 0, 4, 4]).unwrap();
            let mut sent = Vec::new();
            stream.read_to_end(&mut sent).unwrap();
            sender.send(sent).unwrap();
        }
    });
    (port, receiver)
}

fn fire(event: &str, project: &Path) -> String {
    let payload = format!(
        r#"{{"session_id":"abc","cwd":{:?},"hook_event_name":"{event}","tool_name":"Bash","tool_input":{{"command":"ls"}}}}"#,
        project.to_str().unwrap()
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_dispatch-hook"))
        .args([event, "--host", "claude-code"])
        .env("GRAPH_PASSWORD", PASSWORD)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.success(), output.stderr.as_slice()), (true, b"".as_slice()));
    String::from_utf8(output.stdout).unwrap()
}

fn contents(folder: &Path, all: &mut Vec<u8>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            contents(&entry.path(), all);
        } else {
            all.extend(std::fs::read(entry.path()).unwrap());
        }
    }
}

#[test]
fn the_password_is_neither_sent_nor_shown() {
    let (port, sent) = bolt_listener();
    let project = tempfile::tempdir().unwrap();
    let hooks = project.path().join(".ai/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    let section = format!(
        r#"{{"neo4j": {{"url": "bolt://127.0.0.1:{port}", "user": "neo4j", "passwordEnv": "GRAPH_PASSWORD"}}}}"#
    );
    std::fs::write(hooks.join("config.json"), section).unwrap();
    std::fs::write(hooks.join("dispatch.manifest.json"), r#"{"budgets": {"SessionStart": 60000}}"#).unwrap();

    let mut shown = fire("PreToolUse", project.path());
    assert!(sent.try_recv().is_err(), "no connection before a tool call");
    shown += &fire("SessionStart", project.path());
    assert_eq!(sent.recv_timeout(LONG).unwrap().len(), HANDSHAKE_BYTES);

    let mut kept = Vec::new();
    contents(&project.path().join(".ai/tmp"), &mut kept);
    let kept = String::from_utf8_lossy(&kept);
    assert!(kept.contains("Bolt/4.4"), "{kept}");
    assert!(!kept.contains(PASSWORD) && !shown.contains(PASSWORD), "{kept}{shown}");
}
