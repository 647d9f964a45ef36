//! A guarded family ends with the child and with this process, wherever its members went.

use std::time::Duration;

use dispatch_os::{Canceller, ChildEnd, ChildSpec, DescendantPolicy, Leftovers};

use super::process::shell;
use super::role::{RoleProcess, say};
use super::waiting::{PATIENCE, all_gone, is_alive};

/// The child, a plain grandchild, one that ignores hangups, one in a session of its own, one that also
/// cleared its environment, a daemon by double fork, and one that ignores every polite signal.
const FAMILY: &str = r#"
echo $$
sleep 300 & echo $!
nohup sh -c 'echo $$; exec sleep 300' 2>/dev/null &
setsid sh -c 'echo $$; exec sleep 300' &
env -i /bin/sh -c 'setsid sh -c "echo \$\$; exec sleep 300"' &
( setsid sh -c '( setsid sh -c "echo \$\$; exec env -i sleep 300" & )' & )
setsid sh -c 'trap "" TERM INT HUP; echo $$; while :; do sleep 1; done' &
"#;
const FAMILY_SIZE: usize = 7;

fn guarded(script: &str) -> ChildSpec {
    shell(script).descendants(DescendantPolicy::Guarded)
}

fn pids(text: &str) -> Vec<i32> {
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

pub fn parent_role() {
    let mut heard = String::new();
    let outcome = guarded(&format!("{FAMILY}\nwait")).run_with(&Canceller::new(), &mut |_, chunk| {
        heard.push_str(&String::from_utf8_lossy(chunk));
        if heard.lines().count() == FAMILY_SIZE && heard.ends_with('\n') {
            say(heard.trim_end().replace('\n', " "));
        }
    });
    panic!("the child ended before its parent: {}", outcome.end);
}

#[test]
fn nothing_outlives_a_parent_that_is_killed() {
    let mut parent = RoleProcess::start("guarded-parent", "");
    let family = pids(&parent.hear());
    assert_eq!(family.len(), FAMILY_SIZE);
    assert!(family.iter().all(|pid| is_alive(*pid)));
    parent.kill();
    all_gone(&family);
}

#[test]
fn nothing_outlives_the_child() {
    let outcome = guarded(&format!("{FAMILY}\nsleep 0.5; exit 3")).run();
    assert_eq!(outcome.exit_code(), Some(3));
    let family = pids(&outcome.stdout.text());
    assert_eq!(family.len(), FAMILY_SIZE);
    assert!(!family.iter().any(|pid| is_alive(*pid)), "gone when the call returns, not some time later");
}

#[test]
fn what_is_left_on_purpose_lives_on() {
    let outcome = guarded("setsid sleep 300 >/dev/null 2>&1 & echo $!").leftovers(Leftovers::Leave).run();
    let left = pids(&outcome.stdout.text());
    assert!(left.iter().all(|pid| is_alive(*pid)));
    let killed = std::process::Command::new("kill").arg("-9").arg(left[0].to_string()).status().unwrap();
    assert!(killed.success());
}

#[test]
fn the_end_of_the_child_is_told_through_the_guardian() {
    assert!(guarded("true").run().succeeded());
    assert_eq!(guarded("exit 42").run().exit_code(), Some(42));
    for signal in [9, 15, 11] {
        let outcome = guarded(&format!("kill -{signal} $$")).run();
        assert!(matches!(outcome.end, ChildEnd::Signalled { signal: found } if found == signal), "{}", outcome.end);
    }
    let output = guarded("cat; echo err >&2").stdin("in").run();
    assert_eq!((output.stdout.text().as_str(), output.stderr.text().as_str()), ("in", "err\n"));
    let missing = ChildSpec::new("/no/such/program").descendants(DescendantPolicy::Guarded).run();
    assert!(matches!(missing.end, ChildEnd::FailedToStart(_)), "{}", missing.end);
}

#[test]
fn a_timeout_gives_its_grace_to_the_whole_family() {
    let polite = "trap 'echo parent; exit' TERM; sh -c 'trap \"sleep 0.3; echo child; exit\" TERM; \
                  echo ready; while :; do sleep 0.05; done' & wait; wait";
    let outcome = guarded(polite).timeout(Duration::from_secs(2)).grace(Duration::from_secs(20)).run();
    assert!(matches!(outcome.end, ChildEnd::TimedOut), "{}", outcome.end);
    assert!(outcome.duration < PATIENCE);
    let text = outcome.stdout.text();
    assert!(text.contains("ready") && text.contains("child"), "{text}");
}

#[test]
fn a_cancelled_family_is_killed_to_the_last() {
    let canceller = Canceller::new();
    let mut lines = 0;
    let outcome =
        guarded(&format!("{FAMILY}\nwait")).grace(Duration::from_millis(200)).run_with(&canceller, &mut |_, chunk| {
            lines += chunk.iter().filter(|byte| **byte == b'\n').count();
            if lines == FAMILY_SIZE {
                canceller.cancel();
            }
        });
    assert!(matches!(outcome.end, ChildEnd::Cancelled), "{}", outcome.end);
    all_gone(&pids(&outcome.stdout.text()));
}

#[test]
fn a_family_that_kills_its_guardian_dies_with_it() {
    let outcome = guarded("echo $$; kill -9 $PPID; sleep 300").run();
    assert!(matches!(outcome.end, ChildEnd::Signalled { signal: 9 }), "{}", outcome.end);
    all_gone(&pids(&outcome.stdout.text()));
}
