//! A machine that stands still again and again lets no call pass unjudged: the budget counts our own work.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use dispatch_support::{TestContext, slow_lane};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Calls in every run, and in the slow lane.
const CALLS: usize = 60;
const SLOW_CALLS: usize = 10_000;
/// Processes that stand still at the same time, and in the slow lane: most of the time they sleep.
const AT_ONCE: usize = 12;
const SLOW_AT_ONCE: usize = 48;
/// How long a host that stands still itself pauses in the middle of a payload; reading waits for a second.
const HOST_PAUSE_MS: Range<u64> = 0..1_500;

/// How long a process may work before it is stopped again.
const WORK_US: Range<u64> = 0..2_000;
/// How long it then stands still.
const STOP_MS: Range<u64> = 20..400;
/// The wall clock of a call runs out within this.
const STANDSTILL_MS: u64 = 5_200;
/// Outside the slow lane only so many moments of a call are tried.
const MOMENTS: u64 = 12;

/// Random numbers from a seed.
fn random_from(seed: u64) -> impl FnMut(&Range<u64>) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |range| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        range.start + state % (range.end - range.start)
    }
}

fn payload_of(context: &TestContext, session: &str, command: &str) -> String {
    let payload = json!({
        "session_id": session, "hook_event_name": "PreToolUse", "cwd": context.project(),
        "tool_name": "Bash", "tool_input": {"command": command},
    });
    payload.to_string()
}

fn start_hook(context: &TestContext) -> Child {
    let mut command = context.command("dispatch-hook");
    command.args(["PreToolUse", "--host", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn told_by(child: &mut Child) -> String {
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    told
}

/// Writes a payload, every second one with a pause in the middle; a hook that has answered reads no more of it.
fn write_payload(mut input: ChildStdin, payload: &str, seed: u64) {
    let (first, rest) = payload.split_at(if seed.is_multiple_of(2) { payload.len() / 2 } else { payload.len() });
    let _ = input.write_all(first.as_bytes());
    if !rest.is_empty() {
        std::thread::sleep(Duration::from_millis(random_from(!seed)(&HOST_PAUSE_MS)));
        let _ = input.write_all(rest.as_bytes());
    }
}

/// One call by a process that is stopped and continued until it ends; what it answered.
fn call_while_freezing(context: &TestContext, seed: u64, command: &str) -> String {
    let payload = payload_of(context, &format!("frozen-{seed}"), command);
    let mut child = start_hook(context);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let input = child.stdin.take().unwrap();
    let host = std::thread::spawn(move || write_payload(input, &payload, seed));
    let mut random = random_from(seed);
    while child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(random(&WORK_US)));
        // A process that has just ended cannot be stopped, and is not: it is not waited for yet.
        let _ = kill_process(pid, Signal::STOP);
        std::thread::sleep(Duration::from_millis(random(&STOP_MS)));
        let _ = kill_process(pid, Signal::CONT);
    }
    host.join().unwrap();
    told_by(&mut child)
}

#[test]
fn a_process_that_is_frozen_again_and_again_judges_every_call() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["init", "--host", "claude-code"]).status, 0);
    let (calls, at_once) = if slow_lane() { (SLOW_CALLS, SLOW_AT_ONCE) } else { (CALLS, AT_ONCE) };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let call = next.fetch_add(1, Ordering::Relaxed);
                    if call >= calls {
                        return;
                    }
                    let told = call_while_freezing(&context, call as u64 + 1, "rm -rf /");
                    assert!(told.contains("\"deny\""), "call {call} passed: {told}");
                }
            });
        }
    });
}

/// Starts hooks that stand still once, at a system call that is counted from the end of the payload.
struct StandingStill<'a> {
    context: &'a TestContext,
    tools: tempfile::TempDir,
}

/// What a call that stood still answered, and how many system calls it made behind its payload.
struct StoodStill {
    told: String,
    calls: u64,
}

impl<'a> StandingStill<'a> {
    fn compile(context: &'a TestContext) -> Self {
        let tools = tempfile::tempdir().unwrap();
        let source = tools.path().join("stand_still.c");
        std::fs::write(&source, include_str!("frozen/stand_still.c")).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-Wall", "-Werror", "-o"]).arg(tools.path().join("stand_still"));
        let done = compiler.arg(source).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self { context, tools }
    }

    fn call(&self, session: &str, command: &str, at: u64) -> StoodStill {
        let (tool, note) = (self.tools.path().join("stand_still"), self.tools.path().join(session));
        let line = format!(
            "exec {} {at} {STANDSTILL_MS} {} dispatch-hook PreToolUse --host claude-code",
            tool.display(),
            note.display()
        );
        let mut child = self.context.shell(&line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload_of(self.context, session, command).as_bytes()).unwrap();
        let told = told_by(&mut child);
        assert!(child.wait().unwrap().success(), "{told}");
        StoodStill { told, calls: std::fs::read_to_string(note).unwrap().parse().unwrap() }
    }
}

#[test]
fn a_call_that_no_guard_got_to_is_refused_and_recorded_as_such() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["init", "--host", "claude-code"]).status, 0);
    let standing = StandingStill::compile(&context);
    let whole = standing.call("whole", "ls", 0);
    assert_eq!(whole.told.trim(), "{}");
    let step = if slow_lane() { 1 } else { whole.calls.div_ceil(MOMENTS) };
    let moments: Vec<u64> = (1..=whole.calls).step_by(usize::try_from(step).unwrap()).collect();
    let told: Vec<[String; 2]> = std::thread::scope(|scope| {
        let standing = &standing;
        let call = |at: u64| {
            let both = [("ls", "free"), ("rm -rf /", "worst")];
            both.map(|(command, name)| scope.spawn(move || standing.call(&format!("{name}-{at}"), command, at).told))
        };
        let calls: Vec<_> = moments.iter().map(|at| call(*at)).collect();
        calls.into_iter().map(|both| both.map(|call| call.join().unwrap())).collect()
    });
    let mut refused = 0;
    for (at, [free, worst]) in moments.iter().zip(&told) {
        // A call whose guards were through when the time ran out keeps their answer.
        assert!(free.contains("PL04") || free.trim() == "{}", "at call {at}: {free}");
        assert!(worst.contains("\"deny\""), "at call {at}: {worst}");
        refused += usize::from(free.contains("PL04")) + usize::from(worst.contains("PL04"));
    }
    let events = context.dispatch(&["events", "--json", "--limit", "1000"]).stdout;
    let records = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let denied = |run: &Value| run["type"] == "HOOK_RUN" && run["decision"] == "deny" && run["data"]["code"] == "PL04";
    let recorded = records.filter(denied).count();
    // One that did not even get to the log of its session is refused and cannot be recorded.
    assert!((1..=refused).contains(&recorded), "{recorded} of {refused}");
}

#[test]
fn a_payload_that_has_not_arrived_in_time_is_refused_and_a_whole_one_is_judged() {
    let context = TestContext::new();
    assert_eq!(context.dispatch(&["init", "--host", "claude-code"]).status, 0);
    let payload = payload_of(&context, "late", "rm -rf /");
    let half = payload.get(..payload.len() / 2).unwrap();
    for (arrived, code) in [("", "PL04"), (half, "PL04"), (payload.as_str(), "UB01")] {
        let mut child = start_hook(&context);
        // The host does not say that it is done.
        let mut input = child.stdin.take().unwrap();
        input.write_all(arrived.as_bytes()).unwrap();
        let told = told_by(&mut child);
        assert!(told.contains("\"deny\"") && told.contains(code), "{arrived}: {told}");
        drop(input);
        child.wait().unwrap();
    }
    let nothing_known = TestContext::new();
    let mut child = start_hook(&nothing_known);
    let input = child.stdin.take().unwrap();
    assert_eq!(told_by(&mut child).trim(), "{}", "a project without rules is left alone");
    drop(input);
    child.wait().unwrap();
}
