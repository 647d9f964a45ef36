//! One child: ends, output, input, environment, failures to start, and nothing left open.

use std::io::Write;
use std::time::Duration;

use dispatch_os::{CaptureLimit, ChildEnd, ChildOutcome, ChildSpec, OutputStream, StartCause, StartFailure};

use super::role::{command, must_succeed, output_of, say};
use super::waiting::PATIENCE;

pub fn shell(script: &str) -> ChildSpec {
    ChildSpec::new("sh").arg("-c").arg(script)
}

fn failure(outcome: ChildOutcome) -> StartFailure {
    match outcome.end {
        ChildEnd::FailedToStart(failure) => failure,
        other => panic!("started: {other}"),
    }
}

#[test]
fn the_end_of_a_child_is_told() {
    assert!(shell("exit 0").run().succeeded());
    assert_eq!(shell("exit 42").run().exit_code(), Some(42));
    let killed = shell("kill -9 $$").run();
    assert!(matches!(killed.end, ChildEnd::Signalled { signal: 9 }), "{}", killed.end);
    assert!(killed.duration < PATIENCE);
}

#[test]
fn output_comes_by_stream_and_is_kept() {
    let mut chunks: Vec<(OutputStream, Vec<u8>)> = Vec::new();
    let outcome = shell("echo out; echo err >&2; echo more")
        .run_with(&dispatch_os::Canceller::new(), &mut |stream, chunk| chunks.push((stream, chunk.to_vec())));
    assert_eq!(outcome.stdout.text(), "out\nmore\n");
    assert_eq!(outcome.stderr.text(), "err\n");
    let of = |wanted| -> Vec<u8> {
        let own = chunks.iter().filter(|(stream, _)| *stream == wanted);
        own.flat_map(|(_, chunk)| chunk.clone()).collect()
    };
    assert_eq!(of(OutputStream::Stdout), b"out\nmore\n");
    assert_eq!(of(OutputStream::Stderr), b"err\n");
}

#[test]
fn arguments_are_not_read_by_a_shell() {
    let outcome = ChildSpec::new("printf").args(["%s|", "$(id)", "a b", "*", ""]).run();
    assert_eq!(outcome.stdout.text(), "$(id)|a b|*||");
}

#[test]
fn a_megabyte_goes_through_stdin_and_back() {
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
    let everything = CaptureLimit { head_bytes: 2_000_000, tail_bytes: 0 };
    let outcome = ChildSpec::new("cat").stdin(bytes.clone()).capture(everything).run();
    assert!(outcome.succeeded());
    assert!(outcome.stdout.head == bytes);
    // A child that does not read its input is not an error.
    assert!(ChildSpec::new("true").stdin(bytes).run().succeeded());
    assert_eq!(ChildSpec::new("cat").run().stdout.total_bytes(), 0);
}

#[test]
fn a_conversation_goes_through_an_open_stdin_until_it_is_closed() {
    let (spec, writer) = ChildSpec::new("cat").timeout(PATIENCE).open_stdin().unwrap();
    let mut writer = Some(writer);
    writer.as_mut().unwrap().write_all(b"first").unwrap();
    let mut heard = String::new();
    let outcome = spec.run_with(&dispatch_os::Canceller::new(), &mut |_, chunk| {
        heard.push_str(&String::from_utf8_lossy(chunk));
        match heard.as_str() {
            "first" => writer.as_mut().unwrap().write_all(b", second").unwrap(),
            "first, second" => writer = None,
            _ => {}
        }
    });
    assert!(outcome.succeeded(), "{}", outcome.end);
    assert_eq!(heard, "first, second");
}

/// Runs in a process of its own, because the peak of memory is counted per process.
pub fn flood_role() {
    let mut streamed = 0_usize;
    let outcome = ChildSpec::new("head")
        .args(["-c", "104857600", "/dev/zero"])
        .run_with(&dispatch_os::Canceller::new(), &mut |_, chunk| streamed += chunk.len());
    assert!(outcome.succeeded());
    assert_eq!((streamed, outcome.stdout.total_bytes()), (100 << 20, 100 << 20));
    assert_eq!(outcome.stdout.head.len() + outcome.stdout.tail.len(), 128 * 1024);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let peak_kb: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak_kb < 40 * 1024, "{peak}");
}

#[test]
fn a_flood_of_100_megabytes_stays_small_in_memory() {
    must_succeed("flood", "");
}

pub fn leak_role() {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let _ = shell("true").run();
    let before = count("/proc/self/fd");
    for _ in 0..20 {
        let _ = shell("sleep 300 & echo x").stdin("x").run();
        let _ = shell("sleep 300").timeout(Duration::from_millis(1)).grace(Duration::ZERO).run();
        let _ = ChildSpec::new("no-such-program").run();
    }
    assert_eq!(count("/proc/self/fd"), before);
    super::waiting::eventually("threads ended", || count("/proc/self/task") <= 2);
    let children = format!("/proc/self/task/{}/children", std::process::id());
    assert_eq!(std::fs::read_to_string(children).unwrap_or_default(), "");
}

#[test]
fn no_descriptor_thread_or_zombie_is_left() {
    must_succeed("leaks", "");
}

pub fn environment_role() {
    let outcome =
        ChildSpec::new("env").variable("GIVEN", "by us").variable("LANG", "xx").pass_variable("ALLOWED_CANARY").run();
    for line in outcome.stdout.text().lines() {
        say(line);
    }
}

#[test]
fn the_environment_is_scrubbed() {
    let mut role = command("environment", "");
    role.env("SECRET_CANARY", "leaked").env("ALLOWED_CANARY", "passed").env("LC_TIME", "C");
    let output = String::from_utf8(role.output().unwrap().stdout).unwrap();
    let seen: Vec<&str> = output.lines().filter_map(|line| line.split_once('!')).map(|(_, word)| word).collect();
    for expected in ["GIVEN=by us", "LANG=xx", "ALLOWED_CANARY=passed", "LC_TIME=C"] {
        assert!(seen.contains(&expected), "{expected} is not in {seen:?}");
    }
    assert!(seen.iter().any(|line| line.starts_with("PATH=")));
    assert!(!output.contains("leaked") && !output.contains("DISPATCH_OS_TEST_ROLE"));
}

#[test]
fn a_child_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "#!/bin/sh\n").unwrap();
    let script = |name: &str, content: &str| {
        use std::os::unix::fs::OpenOptionsExt;
        let path = folder.path().join(name);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).mode(0o755).open(&path).unwrap();
        file.write_all(content.as_bytes()).unwrap();
        path
    };
    let orphan = script("orphan", "#!/no/such/interpreter\n");
    type IsExpected = fn(&StartCause) -> bool;
    let cases: [(ChildSpec, IsExpected); 7] = [
        (ChildSpec::new("no-such-program"), |cause| matches!(cause, StartCause::NotFound)),
        (ChildSpec::new(folder.path().join("none")), |cause| matches!(cause, StartCause::NotFound)),
        (ChildSpec::new(plain), |cause| matches!(cause, StartCause::NotExecutable)),
        (ChildSpec::new(folder.path()), |cause| matches!(cause, StartCause::NotExecutable)),
        (ChildSpec::new(orphan), |cause| matches!(cause, StartCause::InterpreterNotFound)),
        (ChildSpec::new("true").working_folder(folder.path().join("none")), |cause| {
            matches!(cause, StartCause::BadWorkingFolder { .. })
        }),
        (ChildSpec::new("true").arg("x".repeat(4 << 20)), |cause| matches!(cause, StartCause::ArgumentsTooLong)),
    ];
    for (spec, is_expected) in cases {
        let failure = failure(spec.run());
        assert!(is_expected(&failure.cause), "{failure}");
        assert!(failure.hint().is_some(), "{failure}");
        assert!(failure.to_string().len() < 500, "arguments must stay out of the text");
    }
    let bad_record = ChildSpec::new("true").record_in("/dev/null/records");
    assert!(matches!(failure(bad_record.run()).cause, StartCause::BadRecordFolder(_)));
}

#[test]
fn the_working_folder_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = ChildSpec::new("pwd").arg("-P").working_folder(folder.path()).run();
    let real = folder.path().canonicalize().unwrap();
    assert_eq!(outcome.stdout.text().trim_end(), real.to_str().unwrap());
}

#[test]
fn secrets_stay_out_of_the_debug_text() {
    let spec = ChildSpec::new("curl").arg("hunter2").variable("KEY", "hunter2").stdin("hunter2");
    assert!(!format!("{spec:?}").contains("hunter2"));
}

#[test]
fn a_role_that_panics_fails_its_test() {
    let (_, code) = output_of("no such role", "");
    assert_ne!(code, Some(0));
}
