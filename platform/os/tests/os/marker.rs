//! Exit markers: who reads one later knows whether the child ended by itself, whenever its parent was killed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dispatch_os::process::{MarkedEnd, MarkedExit, ParentThen, read_exit_marker};
use dispatch_os::{Canceller, ChildEnd, ChildSpec, DescendantPolicy, StartCause};

use super::process::shell;
use super::role::{RoleProcess, say};
use super::waiting::{PATIENCE, eventually, is_alive};

const FAMILIES: [DescendantPolicy; 2] = [DescendantPolicy::Free, DescendantPolicy::Guarded];

fn exited(code: i32, parent: ParentThen) -> MarkedExit {
    MarkedExit { end: MarkedEnd::Exited { code }, parent }
}

/// Runs the script in the folder `name` of the argument, and repeats what it says.
pub fn parent_role(argument: &str) {
    let (folder, script) = argument.split_once('|').unwrap();
    let spec = shell(script).working_folder(folder).descendants(DescendantPolicy::Guarded);
    say("ready");
    let outcome = spec.exit_marker(Path::new(folder).join("marker")).run_with(&Canceller::new(), &mut |_, chunk| {
        // The reader may be gone, because it has heard enough.
        let _ = std::io::Write::write_all(&mut std::io::stdout(), chunk);
    });
    say(outcome.end);
}

/// Whether any process was started for this folder: parent and guardian have it in their environment,
/// the child in its arguments.
fn is_mentioned(folder: &Path) -> bool {
    let folder = folder.to_str().unwrap().as_bytes();
    let mentions = |file: std::path::PathBuf| {
        std::fs::read(file).is_ok_and(|bytes| bytes.windows(folder.len()).any(|window| window == folder))
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.into_iter().any(|process| mentions(process.join("environ")) || mentions(process.join("cmdline")))
}

fn state_of(pid: i32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('-')
}

#[test]
fn an_end_of_its_own_is_marked() {
    for family in FAMILIES {
        let folder = tempfile::tempdir().unwrap();
        for (script, end) in [
            ("exit 0", MarkedEnd::Exited { code: 0 }),
            ("exit 3", MarkedEnd::Exited { code: 3 }),
            ("sleep 300 & exit 4", MarkedEnd::Exited { code: 4 }),
            ("kill -9 $$", MarkedEnd::Signalled { signal: 9 }),
            ("kill -TERM $$", MarkedEnd::Signalled { signal: 15 }),
        ] {
            let path = folder.path().join(script.replace([' ', '$', '&'], "-"));
            shell(script).descendants(family).exit_marker(&path).run();
            let expected = MarkedExit { end, parent: ParentThen::Alive };
            assert_eq!(read_exit_marker(&path), Some(expected), "{family:?}: {script}");
        }
    }
}

#[test]
fn an_end_that_we_asked_for_is_not_marked() {
    let polite = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    for family in FAMILIES {
        for (script, grace_ms) in [(polite, 20_000), ("echo ready; exec sleep 300", 20_000), (polite, 0)] {
            let folder = tempfile::tempdir().unwrap();
            let (cancelled, timed_out) = (folder.path().join("cancelled"), folder.path().join("timed-out"));
            let spec = shell(script).descendants(family).grace(Duration::from_millis(grace_ms));
            let canceller = Canceller::new();
            let outcome = spec.clone().exit_marker(&cancelled).run_with(&canceller, &mut |_, _| canceller.cancel());
            assert!(matches!(outcome.end, ChildEnd::Cancelled), "{}", outcome.end);
            assert_eq!(read_exit_marker(&cancelled), None, "{family:?}: {script}");
            let outcome = spec.timeout(Duration::from_millis(100)).exit_marker(&timed_out).run();
            assert!(matches!(outcome.end, ChildEnd::TimedOut), "{}", outcome.end);
            assert_eq!(read_exit_marker(&timed_out), None, "{family:?}: {script}");
        }
    }
}

#[test]
fn a_child_that_never_ran_has_no_marker() {
    for family in FAMILIES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marker");
        let outcome = ChildSpec::new("/no/such/program").descendants(family).exit_marker(&path).run();
        assert!(matches!(outcome.end, ChildEnd::FailedToStart(_)), "{}", outcome.end);
        assert!(!path.exists());

        std::fs::write(&path, "exit 9\n").unwrap();
        let witness = folder.path().join("ran");
        let outcome = ChildSpec::new("touch").arg(&witness).descendants(family).exit_marker(&path).run();
        let ChildEnd::FailedToStart(failure) = outcome.end else { panic!("started: {}", outcome.end) };
        assert!(matches!(failure.cause, StartCause::BadExitMarker(_)), "{failure}");
        assert!(!witness.exists());
        assert_eq!(read_exit_marker(&path), Some(exited(9, ParentThen::Alive)), "the older witness stays");
    }
}

#[test]
fn the_child_does_not_get_hold_of_its_marker() {
    for family in FAMILIES {
        let folder = tempfile::tempdir().unwrap();
        let spec = shell("ls -l /proc/$$/fd").descendants(family).exit_marker(folder.path().join("marker"));
        let outcome = spec.run();
        assert!(outcome.succeeded());
        let listed = outcome.stdout.text();
        assert!(listed.contains("pipe:") && !listed.contains("marker"), "{listed}");
    }
}

/// A parent whose child has told the id of its guardian and its own.
fn start(folder: &Path, script: &str) -> (RoleProcess, i32, i32) {
    let mut parent = RoleProcess::start("marked-parent", &format!("{}|echo \"!$PPID $$\"; {script}", folder.display()));
    assert_eq!(parent.hear(), "ready");
    let told = parent.hear();
    let (guardian, child) = told.split_once(' ').unwrap();
    (parent, guardian.parse().unwrap(), child.parse().unwrap())
}

#[test]
fn an_end_before_the_death_of_the_parent_is_marked_even_if_both_are_seen_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (parent, guardian, child) = start(folder.path(), "until test -e go; do sleep 0.01; done; exit 3");
    let stopped = Command::new("kill").arg("-STOP").arg(guardian.to_string()).status().unwrap();
    assert!(stopped.success());
    eventually("the guardian is stopped", || state_of(guardian) == 'T');
    std::fs::write(folder.path().join("go"), "").unwrap();
    eventually("the child has ended", || state_of(child) == 'Z');
    assert_eq!(read_exit_marker(&folder.path().join("marker")), None, "the guardian stands still");
    parent.kill();
    // The kernel itself may have made a group go on that lost its parent.
    let _ = Command::new("kill").arg("-CONT").arg(guardian.to_string()).stderr(Stdio::null()).status();
    eventually("the guardian has ended", || !is_alive(guardian));
    assert_eq!(read_exit_marker(&folder.path().join("marker")), Some(exited(3, ParentThen::Dying)));
}

#[test]
fn a_child_killed_because_its_parent_died_is_not_marked() {
    let folder = tempfile::tempdir().unwrap();
    let (parent, guardian, child) = start(folder.path(), "exec sleep 300");
    parent.kill();
    eventually("both have ended", || !is_alive(guardian) && !is_alive(child));
    assert_eq!(read_exit_marker(&folder.path().join("marker")), None);
}

#[test]
fn an_end_that_came_from_a_closed_pipe_is_told_from_one_of_its_own() {
    let stubborn = "trap '' PIPE; while echo x 2>/dev/null; do :; done; exit 7";
    let mut marked = 0;
    for (script, may_be_marked) in [("exec yes", false), (stubborn, true)] {
        for _ in 0..25 {
            let folder = tempfile::tempdir().unwrap();
            let (parent, _, _) = start(folder.path(), script);
            parent.kill();
            eventually("all have ended", || !is_mentioned(folder.path()));
            match read_exit_marker(&folder.path().join("marker")) {
                None => {}
                Some(exit) if may_be_marked => {
                    assert_eq!(exit, exited(7, ParentThen::Dying));
                    marked += 1;
                }
                Some(exit) => panic!("{exit:?}"),
            }
        }
    }
    println!("{marked} of 25 ended by the closed pipe before they were killed");
}

#[test]
fn a_parent_killed_at_any_moment_leaves_a_marker_only_of_a_child_that_was_through() {
    const MOMENTS: u64 = 120;
    let mut counts = [0; 4];
    let started = Instant::now();
    // Later and later, until the child of a slow machine, too, has once come to its end.
    for moment in 0_u64.. {
        if moment > MOMENTS && counts[3] > 0 {
            break;
        }
        assert!(started.elapsed() < PATIENCE, "no child ever came to its end: {counts:?}");
        let folder = tempfile::tempdir().unwrap();
        let script = "for i in 1 2 3 4 5; do : > step-$i; done; /bin/true; printf done > last; exit 5";
        let mut parent = RoleProcess::start("marked-parent", &format!("{}|{script}", folder.path().display()));
        assert_eq!(parent.hear(), "ready");
        std::thread::sleep(Duration::from_micros(moment * moment));
        parent.kill();
        eventually("all have ended", || !is_mentioned(folder.path()));
        let is_done = std::fs::read(folder.path().join("last")).is_ok_and(|text| text == b"done");
        let marked = read_exit_marker(&folder.path().join("marker"));
        assert!(marked.is_none_or(|exit| exit.end == MarkedEnd::Exited { code: 5 }), "{marked:?}");
        assert!(marked.is_none() || is_done, "marked, but the child was not through");
        counts[usize::from(is_done) + 2 * usize::from(marked.is_some())] += 1;
    }
    let [killed_before, killed_between, _, ended] = counts;
    println!("killed before its last act: {killed_before}, after it: {killed_between}, ended by itself: {ended}");
}
