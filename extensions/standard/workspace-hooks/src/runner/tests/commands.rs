//! Plain programs: what they get, how they end, what is kept of them.

use super::runner_host::{LONG_MS, RunnerHost, failure, run};
use crate::run_executor::{RetryAdvice, RunEnd};
use dispatch_contracts::cancel::CancelToken;
use serde_json::Value;
use std::time::{Duration, Instant};

#[test]
fn a_program_gets_the_event_and_its_few_variables() {
    let mut host = RunnerHost::script("cat > event.json; env > env.txt; pwd; printf 'done\\n' >&2");
    host.about("src/a b.rs");
    host.about("src/c.rs");
    let result = run(host.execute());
    assert_eq!((&result.end, result.exit_code), (&RunEnd::Success, Some(0)), "{}", result.output);
    assert!(result.output.contains(host.workspace().to_str().unwrap()) && result.output.contains("done\n"));
    let event: Value = serde_json::from_slice(&std::fs::read(host.workspace().join("event.json")).unwrap()).unwrap();
    let file = host.workspace().join("src/a b.rs");
    assert_eq!(
        event,
        serde_json::json!({
            "runId": "run-1", "hookId": "check", "trigger": "onDidSaveTextDocument",
            "workspaceRoot": host.workspace(), "filePath": file, "attempt": 1, "metadata": {"commit": "abc"},
            "files": [
                {"path": "src/a b.rs", "kind": "changed", "change": {"kind": "changed"}, "contentHash": "0".repeat(64)},
                {"path": "src/c.rs", "kind": "changed", "change": {"kind": "changed"}, "contentHash": "0".repeat(64)},
            ],
        })
    );
    let env = std::fs::read_to_string(host.workspace().join("env.txt")).unwrap();
    assert!(env.contains("DISPATCH_HOOK_ID=check\n") && env.contains("DISPATCH_RUN_ID=run-1\n"), "{env}");
    assert!(env.contains(&format!("DISPATCH_FILE={}\n", file.display())), "{env}");
    // Cargo sets many for its tests; none of them is on the list.
    assert!(!env.contains("CARGO_MANIFEST_DIR"), "{env}");
}

#[test]
fn a_variable_is_handed_on_only_if_the_hook_asks() {
    let mut host = RunnerHost::script("echo \"<$CARGO_PKG_NAME>\"");
    assert_eq!(run(host.execute()).output, "<>\n");
    host.hook.pass_env = vec!["CARGO_PKG_NAME".to_owned()];
    assert_eq!(run(host.execute()).output, "<ext-workspace-hooks>\n");
}

#[test]
fn words_are_never_a_shell_line() {
    let host = RunnerHost::command(&["printf", "%s|", "$(touch owned)", "a;b", "*", ""]);
    assert_eq!(run(host.execute()).output, "$(touch owned)|a;b|*||");
    assert!(!host.workspace().join("owned").exists());
}

#[test]
fn ends_are_told_apart() {
    let check = |host: RunnerHost, reason: &str, again: RetryAdvice, code: Option<i32>| {
        let result = run(host.execute());
        let (said, found) = failure(&result);
        assert!(said.contains(reason), "{said}");
        assert_eq!((found, result.exit_code), (again, code), "{said}");
    };
    check(
        RunnerHost::script("echo out; echo no such thing >&2; exit 3"),
        "exit code 3: no such thing",
        RetryAdvice::Worthwhile,
        Some(3),
    );
    check(RunnerHost::script("exit 1"), "exit code 1", RetryAdvice::Worthwhile, Some(1));
    check(RunnerHost::script("kill -9 $$"), "signal 9", RetryAdvice::Worthwhile, None);
    check(RunnerHost::command(&["dispatch-no-such-program"]), "no such program", RetryAdvice::Useless, None);
    check(RunnerHost::command(&["./missing"]), "no such program", RetryAdvice::Useless, None);
    check(RunnerHost::command(&[]), "empty", RetryAdvice::Useless, None);
    let host = RunnerHost::command(&["./plain.txt"]);
    host.write("plain.txt", "text");
    check(host, "not executable", RetryAdvice::Useless, None);
    let host = RunnerHost::script("true");
    let job = crate::run_executor::RunJob { workspace: host.workspace().join("gone"), ..host.job() };
    let result = run(host.executor().execute(job));
    assert_eq!(failure(&result).1, RetryAdvice::Useless);
}

#[test]
fn time_that_is_up_takes_the_whole_tree() {
    let mut host = RunnerHost::script("(sleep 300; touch late) & sh -c 'echo begun; sleep 300'");
    host.hook.timeout_ms = 1_500;
    let started = Instant::now();
    let result = run(host.execute());
    assert_eq!(result.end, RunEnd::Timeout);
    assert_eq!(result.output, "begun\n", "what was printed until then is kept");
    assert!(started.elapsed() < Duration::from_millis(LONG_MS));
}

#[test]
fn a_cancel_stops_it_now_or_before_it_begins() {
    let host = RunnerHost::script("touch begun; sleep 300");
    let cancel = host.cancel.clone();
    let begun = host.workspace().join("begun");
    let waiting = std::thread::spawn(move || {
        while !begun.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        cancel.cancel();
    });
    assert_eq!(run(host.execute()).end, RunEnd::Canceled);
    waiting.join().unwrap();
    let mut host = RunnerHost::script("touch begun");
    host.cancel = CancelToken::new();
    host.cancel.cancel();
    assert_eq!(run(host.execute()).end, RunEnd::Canceled);
    assert!(!host.workspace().join("begun").exists());
}

#[test]
fn nobody_waiting_any_more_stops_it_too() {
    let host = RunnerHost::script("touch begun; sleep 300; touch late");
    let begun = host.workspace().join("begun");
    run(async {
        let executor = host.executor();
        let mut work = executor.execute(host.job());
        while !begun.exists() {
            let tick = Box::pin(tokio::time::sleep(Duration::from_millis(5)));
            if let futures_util::future::Either::Left(_) = futures_util::future::select(&mut work, tick).await {
                panic!("it has not ended");
            }
        }
        drop(work);
    });
    assert!(!host.workspace().join("late").exists());
}

#[test]
fn nothing_is_known_of_an_attempt_that_left_no_mark() {
    let host = RunnerHost::script("true");
    assert_eq!(run(host.settle("run-9", 2)), None);
}

#[cfg(target_os = "linux")]
#[test]
fn the_end_of_a_program_is_known_without_the_process_that_ran_it() {
    use crate::contract::RunId;
    for (script, end, code) in [("true", RunEnd::Success, Some(0)), ("exit 7", failed("exit code 7"), Some(7))] {
        let host = RunnerHost::script(script);
        run(host.execute());
        let settled = run(host.settle("run-1", 1)).unwrap();
        assert_eq!((settled.end, settled.exit_code), (end, code), "{script}");
        assert_eq!(run(host.settle("run-1", 2)), None);
        host.executor().stored(&RunId("run-1".to_owned()), 1);
        assert_eq!(run(host.settle("run-1", 1)), None, "nobody wants to know it any more");
    }
    let mut host = RunnerHost::script("sleep 300");
    host.hook.timeout_ms = 300;
    assert_eq!(run(host.execute()).end, RunEnd::Timeout);
    let settled = run(host.settle("run-1", 1));
    assert_eq!(settled, None, "an end that we made is none of its own");
}

/// Work on an attempt that has begun and goes on until `go` is there.
#[cfg(target_os = "linux")]
fn while_it_goes(
    host: &RunnerHost,
    work: impl Fn(&dyn crate::run_executor::RunExecutor),
) -> crate::run_executor::RunResult {
    let executor = host.executor();
    run(async {
        let mut going = executor.execute(host.job());
        while !host.workspace().join("begun").exists() {
            let tick = Box::pin(tokio::time::sleep(Duration::from_millis(5)));
            if let futures_util::future::Either::Left(_) = futures_util::future::select(&mut going, tick).await {
                panic!("it has not ended");
            }
        }
        work(executor.as_ref());
        host.write("go", "");
        going.await
    })
}

#[cfg(target_os = "linux")]
#[test]
fn an_attempt_that_goes_has_no_end_yet() {
    use crate::contract::RunId;
    use crate::run_executor::SettledRun;
    let host = RunnerHost::script("touch begun; until [ -e go ]; do sleep 0.01; done");
    let id = RunId("run-1".to_owned());
    let result = while_it_goes(&host, |executor| {
        let settled = std::thread::scope(|scope| scope.spawn(|| run(executor.settle(&id, 1))).join().unwrap());
        assert_eq!(settled, SettledRun::Pending);
    });
    assert_eq!(result.end, RunEnd::Success);
    assert_eq!(run(host.settle("run-1", 1)).map(|settled| settled.end), Some(RunEnd::Success));
}

#[cfg(target_os = "linux")]
#[test]
fn what_an_attempt_writes_is_known_while_it_goes() {
    use crate::contract::RunId;
    use crate::run_executor::WriteTracking;
    let script = "mkdir -p out; (echo x > 'out/a b.txt'); echo y > /tmp/../dev/null; touch begun; \
                  until [ -e go ]; do sleep 0.01; done; echo z > late";
    let host = RunnerHost::script(script);
    let id = RunId("run-1".to_owned());
    let result = while_it_goes(&host, |executor| {
        // Where the system lets nobody observe, nothing is seen, and that is known when the first child has ended.
        let observed = executor.observed(&id);
        if !observed.is_empty() {
            assert_eq!(observed, ["begun", "out", "out/a b.txt"]);
            assert_eq!(executor.sight(), WriteTracking::Observes);
        }
        assert_eq!(executor.observed(&RunId("run-2".to_owned())), Vec::<String>::new());
    });
    assert_eq!(result.end, RunEnd::Success);
    let executor = host.executor();
    run(executor.execute(host.job()));
    match executor.sight() {
        WriteTracking::Observes => {
            assert!(executor.observed(&id).contains(&"late".to_owned()), "until its end is stored")
        }
        WriteTracking::Blind => assert_eq!(executor.observed(&id), Vec::<String>::new()),
    }
    executor.stored(&id, 1);
    assert_eq!(executor.observed(&id), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
fn failed(reason: &str) -> RunEnd {
    RunEnd::Failed { reason: reason.to_owned(), again: RetryAdvice::Worthwhile }
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_a_program_wrote_are_named() {
    let host =
        RunnerHost::script("mkdir -p out; echo x > out/a.txt; (echo y > 'b c.txt') & cat out/a.txt > /dev/null; wait");
    host.write("old.txt", "x");
    let result = run(host.execute());
    for name in ["out/a.txt", "b c.txt"] {
        assert!(result.wrote.iter().any(|wrote| wrote == name), "{name}: {:?}", result.wrote);
    }
    assert!(!result.wrote.iter().any(|wrote| wrote == "old.txt"), "{:?}", result.wrote);
}
