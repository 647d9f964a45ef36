//! Whole trees end: at a timeout, at a cancel, after the child, and with this process.

use std::sync::mpsc::channel;
use std::time::Duration;

use dispatch_os::{Canceller, ChildEnd, ChildOutcome, ChildSpec, Leftovers};

use super::process::shell;
use super::role::{RoleProcess, say};
use super::waiting::{PATIENCE, all_gone, eventually, is_alive};

/// A child, two plain grandchildren, one that ignores the polite signal, one in a session of its own,
/// and a daemon that has left the family; each says its process id.
const FAMILY: &str = r#"
echo $$
sleep 300 & echo $!
sleep 300 & echo $!
sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
( setsid sh -c 'echo $$; exec sleep 300' & )
wait
"#;
const FAMILY_SIZE: usize = 6;

fn pids(text: &str) -> Vec<i32> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Cancels once everybody has said their id.
fn run_until_all_are_there(spec: &ChildSpec, family_size: usize) -> ChildOutcome {
    let canceller = Canceller::new();
    let mut lines = 0;
    spec.run_with(&canceller, &mut |_, chunk| {
        lines += chunk.iter().filter(|byte| **byte == b'\n').count();
        if lines == family_size {
            canceller.cancel();
        }
    })
}

#[test]
fn a_cancelled_tree_is_killed_to_the_last() {
    let grace = Duration::from_millis(200);
    let outcome = run_until_all_are_there(&shell(FAMILY).grace(grace), FAMILY_SIZE);
    assert!(matches!(outcome.end, ChildEnd::Cancelled), "{}", outcome.end);
    let family = pids(&outcome.stdout.text());
    assert_eq!(family.len(), FAMILY_SIZE);
    all_gone(&family);
    assert!(!std::path::Path::new(&format!("/proc/{}", family[0])).exists(), "a zombie is left");
}

#[test]
fn no_grace_kills_at_once() {
    let outcome = run_until_all_are_there(&shell(FAMILY).grace(Duration::ZERO), FAMILY_SIZE);
    assert!(matches!(outcome.end, ChildEnd::Cancelled), "{}", outcome.end);
    all_gone(&pids(&outcome.stdout.text()));
}

#[test]
fn a_child_that_outlasts_its_time_is_ended() {
    let spec = shell("echo $$; exec sleep 300").timeout(Duration::from_millis(100));
    let outcome = spec.run();
    assert!(matches!(outcome.end, ChildEnd::TimedOut), "{}", outcome.end);
    assert!(outcome.duration >= Duration::from_millis(100) && outcome.duration < PATIENCE);
    all_gone(&pids(&outcome.stdout.text()));
}

#[test]
fn a_polite_child_may_say_goodbye_within_the_grace() {
    let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    let outcome = run_until_all_are_there(&shell(script).grace(PATIENCE), 1);
    assert!(matches!(outcome.end, ChildEnd::Cancelled), "{}", outcome.end);
    assert_eq!(outcome.stdout.text(), "ready\nbye\n");
    assert!(outcome.duration < PATIENCE);
}

#[test]
fn a_grandchild_may_say_goodbye_after_the_child_is_gone() {
    let script = "sh -c 'trap \"sleep 0.2; echo bye; exit 0\" TERM; echo ready; \
                  while :; do sleep 0.01; done' & wait";
    let outcome = run_until_all_are_there(&shell(script).grace(PATIENCE), 1);
    assert_eq!(outcome.stdout.text(), "ready\nbye\n");
    assert!(outcome.duration < PATIENCE);
}

#[test]
fn another_thread_can_cancel() {
    let (canceller, (ready, is_ready)) = (Canceller::new(), channel());
    let remote = canceller.clone();
    let thread = std::thread::spawn(move || {
        is_ready.recv().unwrap();
        remote.cancel();
    });
    let outcome = shell("echo $$; exec sleep 300").run_with(&canceller, &mut |_, _| {
        ready.send(()).unwrap();
    });
    thread.join().unwrap();
    assert!(matches!(outcome.end, ChildEnd::Cancelled), "{}", outcome.end);
    assert!(outcome.duration < PATIENCE);
    all_gone(&pids(&outcome.stdout.text()));
    // A canceller that was thrown before stops the child right away.
    let outcome = shell("exec sleep 300").run_with(&canceller, &mut |_, _| {});
    assert!(matches!(outcome.end, ChildEnd::Cancelled), "{}", outcome.end);
}

#[test]
fn a_grandchild_that_holds_the_pipe_does_not_hold_us() {
    for script in [
        "sleep 300 & echo $!",
        "setsid sleep 300 & echo $!",
        "( setsid sh -c 'echo $$; exec sleep 300' & ) ; sleep 0.1",
    ] {
        let outcome = shell(script).run();
        assert!(outcome.succeeded(), "{script}: {}", outcome.end);
        assert!(outcome.duration < PATIENCE);
        all_gone(&pids(&outcome.stdout.text()));
    }
}

#[test]
fn a_grandchild_with_closed_pipes_ends_with_the_child_too() {
    let outcome = shell("sleep 300 >/dev/null 2>&1 & echo $!").run();
    assert!(outcome.succeeded());
    all_gone(&pids(&outcome.stdout.text()));
}

#[test]
fn leftovers_live_on_when_asked_to() {
    let outcome = shell("sleep 300 & echo $!").leftovers(Leftovers::Leave).run();
    assert!(outcome.succeeded());
    let left = pids(&outcome.stdout.text());
    assert!(is_alive(left[0]));
    let pid = rustix::process::Pid::from_raw(left[0]).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    all_gone(&left);
}

#[test]
fn a_callback_that_panics_takes_the_tree_with_it() {
    let heard = std::sync::Mutex::new(String::new());
    let result = std::panic::catch_unwind(|| {
        shell("echo $$; exec sleep 300").run_with(&Canceller::new(), &mut |_, chunk| {
            heard.lock().unwrap().push_str(&String::from_utf8_lossy(chunk));
            std::panic::resume_unwind(Box::new("no"));
        })
    });
    assert!(result.is_err());
    all_gone(&pids(&heard.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())));
}

pub fn parent_role() {
    let script = "echo $$; exec sleep 300";
    let outcome = shell(script).run_with(&Canceller::new(), &mut |_, chunk| {
        say(String::from_utf8_lossy(chunk).trim_end());
    });
    panic!("the child ended before its parent: {}", outcome.end);
}

#[test]
fn a_child_does_not_outlive_a_killed_parent() {
    let mut parent = RoleProcess::start("parent", "");
    let child: i32 = parent.hear().parse().unwrap();
    assert!(is_alive(child));
    parent.kill();
    eventually("the child died with its parent", || !is_alive(child));
}
