//! The note for the next turn of a foreign agent: when it is left, what it says, where it may not go.

use super::runner_host::{RunnerHost, run};
use serde_json::Value;

fn note(host: &RunnerHost) -> Option<Value> {
    let text = std::fs::read(host.workspace().join(".akira/inbox/run-1.json")).ok()?;
    assert!(text.len() <= 4096, "{} bytes", text.len());
    Some(serde_json::from_slice(&text).unwrap())
}

#[test]
fn a_note_is_left_when_the_last_word_is_spoken() {
    let mut host = RunnerHost::script("seq 100000; echo fine");
    run(host.execute());
    assert_eq!(note(&host), None, "nobody asked for it");
    host.hook.tell_agent = true;
    host.about("src/a.rs");
    run(host.execute());
    let found = note(&host).unwrap();
    assert_eq!((found["status"].as_str(), found["hookId"].as_str()), (Some("success"), Some("check")));
    assert_eq!(found["files"], serde_json::json!(["src/a.rs"]));
    assert!(found["summary"].as_str().unwrap().ends_with("99999\n100000\nfine"));
    let ignored = std::fs::read_to_string(host.workspace().join(".akira/inbox/.gitignore")).unwrap();
    assert_eq!(ignored, "*\n");
}

#[test]
fn a_failure_is_told_when_no_attempt_is_left() {
    let mut host = RunnerHost::script("echo broken >&2; exit 2");
    (host.hook.tell_agent, host.hook.retry.count) = (true, 1);
    run(host.execute());
    assert_eq!(note(&host), None, "it will be tried again");
    host.attempt = 2;
    run(host.execute());
    let found = note(&host).unwrap();
    assert_eq!((found["status"].as_str(), found["reason"].as_str()), (Some("failed"), Some("exit code 2: broken")));
}

#[cfg(unix)]
#[test]
fn no_note_goes_through_a_link() {
    use std::os::unix::fs::PermissionsExt;
    let mut host = RunnerHost::script("echo fine");
    host.hook.tell_agent = true;
    let outside = host.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, host.workspace().join(".akira")).unwrap();
    let result = run(host.execute());
    assert_eq!(result.output, "fine\n");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    std::fs::remove_file(host.workspace().join(".akira")).unwrap();
    run(host.execute());
    let mode = host.workspace().join(".akira/inbox/run-1.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
