//! The executable answers, whatever it is fed. Also makes cargo build it for `testing/it`.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::io::Write;
use std::process::{Command, Stdio};

fn answer(payload: &[u8]) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dispatch-hook"))
        .args(["PreToolUse", "--host", "claude-code"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let payload = payload.to_vec();
    let feeder = std::thread::spawn(move || {
        // The hook may answer before it has read everything.
        let _ = stdin.write_all(&payload);
    });
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    assert_eq!(output.stderr, b"");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn any_payload_gets_exactly_one_json_object() {
    let huge = vec![b'x'; 8 * 1024 * 1024];
    for payload in [b"".as_slice(), b"{}", b"{\"tool", b"\xff\xfe\x00", &huge] {
        assert_eq!(answer(payload), "{}\n");
    }
}
