//! The note for the next turn of a foreign agent: when it is left, what it says, where it may not go.

use super::rig::{Rig, run};
use serde_json::Value;

fn note(rig: &Rig) -> Option<Value> {
    let text = std::fs::read(rig.workspace().join(".akira/inbox/run-1.json")).ok()?;
    assert!(text.len() <= 4096, "{} bytes", text.len());
    Some(serde_json::from_slice(&text).unwrap())
}

#[test]
fn a_note_is_left_when_the_last_word_is_spoken() {
    let mut rig = Rig::script("seq 100000; echo fine");
    run(rig.perform());
    assert_eq!(note(&rig), None, "nobody asked for it");
    rig.hook.tell_agent = true;
    rig.about("src/a.rs");
    run(rig.perform());
    let found = note(&rig).unwrap();
    assert_eq!((found["status"].as_str(), found["hookId"].as_str()), (Some("success"), Some("check")));
    assert_eq!(found["files"], serde_json::json!(["src/a.rs"]));
    assert!(found["summary"].as_str().unwrap().ends_with("99999\n100000\nfine"));
    let ignored = std::fs::read_to_string(rig.workspace().join(".akira/inbox/.gitignore")).unwrap();
    assert_eq!(ignored, "*\n");
}

#[test]
fn a_failure_is_told_when_no_attempt_is_left() {
    let mut rig = Rig::script("echo broken >&2; exit 2");
    (rig.hook.tell_agent, rig.hook.retry.count) = (true, 1);
    run(rig.perform());
    assert_eq!(note(&rig), None, "it will be tried again");
    rig.attempt = 2;
    run(rig.perform());
    let found = note(&rig).unwrap();
    assert_eq!((found["status"].as_str(), found["reason"].as_str()), (Some("failed"), Some("exit code 2: broken")));
}

#[cfg(unix)]
#[test]
fn no_note_goes_through_a_link() {
    use std::os::unix::fs::PermissionsExt;
    let mut rig = Rig::script("echo fine");
    rig.hook.tell_agent = true;
    let outside = rig.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, rig.workspace().join(".akira")).unwrap();
    let performance = run(rig.perform());
    assert_eq!(performance.output, "fine\n");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    std::fs::remove_file(rig.workspace().join(".akira")).unwrap();
    run(rig.perform());
    let mode = rig.workspace().join(".akira/inbox/run-1.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
