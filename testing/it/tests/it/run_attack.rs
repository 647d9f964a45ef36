//! A server that is attacked, or whose machine is not as it should be, seen from outside.

use crate::run_workspace::{RunWorkspace, wait_until};
use dispatch_support::{Client, Reply, ScriptedModel, Step, slow_lane};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a legitimate request may take on a busy machine while strangers hold connections; one is served in milliseconds,
/// and the test before the limits took 31 s. The slow lane allows one second.
const PROMPT: Duration = Duration::from_secs(10);

fn hello() -> RunWorkspace {
    RunWorkspace::new(ScriptedModel::answering(|_| Reply::say("hello")), &[])
}

#[test]
fn connections_without_a_token_keep_nobody_out() {
    let workspace = hello();
    let served = workspace.start();
    let open = || TcpStream::connect(served.client.address).expect("a connection");
    let mut held: Vec<TcpStream> = Vec::new();
    for count in [256, 600] {
        while held.len() < count {
            let mut stream = open();
            if held.len().is_multiple_of(2) {
                // Half of them begin a request and never end it.
                let _ = stream.write_all(b"GET /v1/sessions HTTP/1.1\r\nHost: ");
            }
            held.push(stream);
        }
        let started = Instant::now();
        assert_eq!(served.client.get("/v1/sessions").status, 200);
        let took = started.elapsed();
        println!("with {count} idle connections a request took {took:?}");
        let limit = if slow_lane() { Duration::from_secs(1) } else { PROMPT };
        assert!(took < limit, "{count} idle connections: {took:?}");
        assert_eq!(served.client.say("s", "hi")["reason"], "");
    }
    let first = held.first_mut().expect("a connection");
    first.set_read_timeout(Some(PROMPT)).expect("a timeout");
    assert!(matches!(first.read(&mut [0; 1]), Ok(0) | Err(_)), "the oldest made room");
}

#[test]
fn a_client_with_the_token_keeps_its_connection_while_strangers_come() {
    let workspace = hello();
    let served = workspace.start();
    let Client { address, token } = served.client.clone();
    let request = format!(
        "GET /v1/sessions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        token.expect("a token")
    );
    let mut kept = TcpStream::connect(address).expect("a connection");
    kept.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    let ask = |stream: &mut TcpStream| {
        stream.write_all(request.as_bytes()).expect("it is still open");
        let mut head = [0; 15];
        stream.read_exact(&mut head).expect("an answer");
        let mut rest = [0; 4096];
        let _ = stream.read(&mut rest);
        String::from_utf8_lossy(&head).into_owned()
    };
    assert_eq!(ask(&mut kept), "HTTP/1.1 200 OK");
    let strangers: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    assert_eq!(ask(&mut kept), "HTTP/1.1 200 OK");
    drop(strangers);
}

fn resident_kib(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line about memory");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// A WebSocket that sends this much of a message and never its end.
fn open_fragment(client: &Client, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(client.address).expect("a connection");
    let head = format!(
        "GET /v1/ws HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        client.address,
        client.token.as_deref().expect("a token")
    );
    stream.write_all(head.as_bytes()).expect("a request");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 101");
    let piece = vec![b'a'; 64 * 1024];
    for at in 0..bytes.div_ceil(piece.len()) {
        // Text, then continuations, none of them the last; masked with zeros.
        let mut frame = vec![u8::from(at == 0), 0x80 | 127];
        frame.extend_from_slice(&(piece.len() as u64).to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&piece);
        if stream.write_all(&frame).is_err() {
            break;
        }
    }
    stream
}

#[test]
fn messages_that_never_end_take_bounded_memory() {
    let workspace = hello();
    let served = workspace.start();
    assert_eq!(served.client.say("s", "hi")["reason"], "");
    let before = resident_kib(served.id());
    for (sockets, bytes) in [(4, 30_000_000), (24, 7_000_000)] {
        let held: Vec<TcpStream> = (0..sockets).map(|_| open_fragment(&served.client, bytes)).collect();
        let grown = resident_kib(served.id()).saturating_sub(before) / 1024;
        assert!(grown < 128, "{sockets} messages of {bytes} bytes: {grown} MiB more");
        assert_eq!(served.client.say("s", "hi")["reason"], "", "others are served");
        drop(held);
    }
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a file");
}

#[test]
fn files_that_others_could_open_are_closed_and_that_is_said() {
    let workspace = hello();
    let home = workspace.context.home();
    let (token, database) = (home.join("token"), home.join("dispatch.db"));
    let mut served = workspace.start();
    assert_eq!(served.client.say("s", "hi")["reason"], "");
    served.kill();
    assert_eq!((mode(&token), mode(&database)), (0o600, 0o600));
    set_mode(&token, 0o644);
    set_mode(&database, 0o666);
    let report = workspace.context.dispatch(&["doctor", "--json"]);
    assert_eq!(report.status, 1, "{report:?}");
    for file in ["token", "dispatch.db"] {
        let findings = report.json()["findings"].clone();
        let told = findings.as_array().expect("findings").iter().any(|finding| {
            finding["health"] == "wrong" && finding["detail"].as_str().is_some_and(|detail| detail.contains(file))
        });
        assert!(told, "{file}: {findings}");
    }
    set_mode(&token, 0o644);
    set_mode(&database, 0o666);
    let served = workspace.start();
    assert_eq!((mode(&token), mode(&database)), (0o600, 0o600));
    assert_eq!(served.client.say("s", "still there?")["reason"], "");
    let log = std::fs::read_to_string(home.join("serve.log")).expect("a log");
    assert!(log.contains("token") && log.contains("mode 644") && log.contains("mode 666"), "{log}");
    let token = std::fs::read_to_string(token).expect("a token");
    assert!(!log.contains(token.trim()), "the token itself is not said");
}

/// Where Debian keeps the library behind `faketime`.
pub(crate) fn wrong_clock() -> String {
    let folders = std::fs::read_dir("/usr/lib").expect("libraries").flatten().map(|entry| entry.path());
    let file = folders.map(|folder| folder.join("faketime/libfaketime.so.1")).find(|file| file.is_file());
    file.expect("`faketime` is installed; .ci/run does that").display().to_string()
}

#[test]
fn a_clock_that_goes_back_a_day_keeps_no_message_waiting() {
    let asked = AtomicBool::new(false);
    // The first turn hangs until the server is killed; one that had not spoken by then is asked again.
    let model = ScriptedModel::answering(move |_| match asked.swap(true, Ordering::Relaxed) {
        false => Reply::steps([Step::say("One "), Step::UntilClosedMs(60_000)]),
        true => Reply::say("Two."),
    });
    let workspace = RunWorkspace::new(model, &[]);
    let library = wrong_clock();
    let tomorrow = [("LD_PRELOAD", library.as_str()), ("FAKETIME", "+24h"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
    let mut served = workspace.start_with(&tomorrow);
    let first = served.client.submit("s", &json!({"text": "first"}));
    wait_until("the first turn runs", || !workspace.model.requests().is_empty());
    let waiting = [
        served.client.submit("s", &json!({"text": "second"})),
        served.client.submit("t", &json!({"text": "third", "mode": "collect"})),
    ];
    served.kill();
    let started = Instant::now();
    let served = workspace.start();
    for dispatch in &waiting {
        let view = served.client.ended(dispatch);
        assert_eq!((view["state"].as_str(), view["reason"].as_str()), (Some("done"), Some("")), "{view}");
    }
    assert_eq!(served.client.ended(&first)["state"], "done");
    assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
    workspace.check_requests();
}
