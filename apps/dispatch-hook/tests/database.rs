//! The check of the graph database by the real executable: its password comes from the environment and stays there.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const PASSWORD: &str = "canary-of-the-graph";
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that agrees on Bolt 4.4 and refuses every login, telling the test what it was sent.
fn refusing_server() -> (u16, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut handshake, mut size) = ([0; 20], [0; 2]);
            stream.read_exact(&mut handshake).unwrap();
            stream.write_all(&[0, 0, 4, 4]).unwrap();
            stream.read_exact(&mut size).unwrap();
            let mut hello = vec![0; usize::from(u16::from_be_bytes(size)) + 2];
            stream.read_exact(&mut hello).unwrap();
            // FAILURE {code: "Neo.Refused <password>"}: a server that says back what it was sent.
            let code = format!("Neo.Refused {PASSWORD}");
            let mut failure = vec![0xB1, 0x7F, 0xA1, 0x84];
            failure.extend(b"code");
            failure.extend([0xD0, u8::try_from(code.len()).unwrap()]);
            failure.extend(code.as_bytes());
            stream.write_all(&[0, u8::try_from(failure.len()).unwrap()]).unwrap();
            stream.write_all(&failure).unwrap();
            stream.write_all(&[0, 0]).unwrap();
            sender.send(hello).unwrap();
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
fn the_password_reaches_the_server_and_nothing_else() {
    let (port, hellos) = refusing_server();
    let project = tempfile::tempdir().unwrap();
    let hooks = project.path().join(".ai/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    let section = format!(
        r#"{{"neo4j": {{"url": "bolt://127.0.0.1:{port}", "user": "neo4j", "passwordEnv": "GRAPH_PASSWORD"}}}}"#
    );
    std::fs::write(hooks.join("config.json"), section).unwrap();
    std::fs::write(hooks.join("dispatch.manifest.json"), r#"{"budgets": {"SessionStart": 60000}}"#).unwrap();

    let mut shown = fire("PreToolUse", project.path());
    assert!(hellos.try_recv().is_err(), "no connection before a tool call");
    shown += &fire("SessionStart", project.path());
    let hello = hellos.recv_timeout(PATIENCE).unwrap();
    assert!(hello.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));

    let mut kept = Vec::new();
    contents(&project.path().join(".ai/tmp"), &mut kept);
    let kept = String::from_utf8_lossy(&kept);
    assert!(kept.contains("neo4j cannot be used: it refused"), "{kept}");
    assert!(!kept.contains(PASSWORD) && !shown.contains(PASSWORD), "{kept}{shown}");
}
