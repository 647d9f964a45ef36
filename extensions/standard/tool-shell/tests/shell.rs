//! The shell tools against real processes, through a real host.

#![allow(clippy::disallowed_methods, reason = "tests set up and look at real files and processes")]
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking, and a role says its words")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use dispatch_os::{ConfinementError, WriteConfinement};
use dispatch_support::{TestToolHost, object};
use serde_json::{Value, json};

/// Far beyond what any condition needs on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A plain child, and one each by `setsid`, `nohup`, with an empty environment, and by a double fork; each
/// says its process id.
const FAMILY: &str = r#"
echo $$
sleep 300 & echo $!
setsid sh -c 'echo $$; exec sleep 300' &
nohup sh -c 'echo $$; exec sleep 300' 2>/dev/null &
env -i /bin/sh -c 'setsid sh -c "echo \$\$; exec sleep 300"' &
( setsid sh -c '( setsid sh -c "echo \$\$; exec env -i sleep 300" & )' & )
"#;
const FAMILY_SIZE: usize = 6;

struct TestShell {
    folder: tempfile::TempDir,
    root: PathBuf,
    rig: TestToolHost,
}

fn shell() -> TestShell {
    shell_with(&[])
}

fn shell_with(settings: &[(&str, Value)]) -> TestShell {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    let rig = TestToolHost::new(vec![ext_tool_shell::extension()], &root, settings);
    TestShell { folder, root, rig }
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with(['Z', 'X']))
}

fn all_gone(pids: &[i32]) {
    assert!(!pids.is_empty());
    eventually(&format!("{pids:?} gone"), || !pids.iter().any(|pid| is_alive(*pid)));
}

fn pids(text: &str) -> Vec<i32> {
    text.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

fn signal(pid: i32, name: &str) {
    assert!(Command::new("kill").arg(name).arg(pid.to_string()).status().unwrap().success());
}

fn records(rig: &TestToolHost) -> usize {
    std::fs::read_dir(rig.folders().state.join("processes")).map_or(0, Iterator::count)
}

#[test]
fn a_command_is_run_and_its_end_is_told() {
    let TestShell { rig, root, .. } = &shell();
    let said = rig.text("run_shell", json!({"command": "echo out; echo err >&2; pwd"}));
    assert!(said.contains("out") && said.contains("err") && said.contains(root.to_str().unwrap()), "{said}");
    assert!(said.contains("[exit code 0 after "), "{said}");
    assert!(rig.printed().contains("out\n"), "output is shown while the command runs");
    let failed = rig.refusal("run_shell", json!({"command": "echo why; exit 3"}));
    assert!(failed.starts_with("why\n[exit code 3 after "), "{failed}");
    assert!(rig.refusal("run_shell", json!({"command": "nosuchcommand"})).contains("127 (command not found)"));
    assert!(rig.refusal("run_shell", json!({"command": "kill -SEGV $$"})).contains("SIGSEGV"));
    assert!(rig.text("run_shell", json!({"command": "pwd", "workdir": "sub"})).contains("root/sub"));
    assert!(rig.text("run_shell", json!({"command": "cat"})).contains("[no output; exit code 0"), "there is no input");
    assert_eq!(records(rig), 0);
}

#[test]
fn what_cannot_run_is_refused() {
    let TestShell { rig, root, .. } = &shell();
    std::os::unix::fs::symlink("/", root.join("out")).unwrap();
    for arguments in [
        json!({}),
        json!({"command": ""}),
        json!({"command": "true", "cwd": "/"}),
        json!({"command": "true", "timeout_ms": 0}),
        json!({"command": "true", "workdir": ".."}),
        json!({"command": "true", "workdir": "/"}),
        json!({"command": "true", "workdir": "out"}),
        json!({"command": "true", "workdir": "missing"}),
        json!({"command": "x".repeat(200_000)}),
    ] {
        rig.refusal("run_shell", arguments);
    }
}

#[test]
fn output_is_bounded_and_both_ends_are_kept() {
    let TestShell { rig, .. } = &shell();
    let said = rig
        .text("run_shell", json!({"command": "echo first; head -c 4000000 /dev/zero | tr '\\0' x; echo; echo last"}));
    assert!(said.len() < 1_100_000, "{}", said.len());
    assert!(said.starts_with("first\n") && said.contains("bytes left out") && said.contains("\nlast\n["));
    let said = rig.text("run_shell", json!({"command": "printf 'a\\377b'"}));
    assert!(said.starts_with("a\u{fffd}b"), "{said}");
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_all_it_started() {
    let TestShell { rig, .. } = &shell();
    let said = rig.refusal("run_shell", json!({"command": format!("{FAMILY}\nwait"), "timeout_ms": 1500}));
    assert!(said.contains("timed out after 1.5 s"), "{said}");
    let family = pids(&said);
    assert_eq!(family.len(), FAMILY_SIZE, "{said}");
    all_gone(&family);
}

#[test]
fn nothing_that_a_command_left_outlives_it() {
    let TestShell { rig, .. } = &shell();
    let said = rig.text("run_shell", json!({"command": format!("{FAMILY}\nsleep 0.5")}));
    let family = pids(&said);
    assert_eq!(family.len(), FAMILY_SIZE, "{said}");
    assert!(!family.iter().any(|pid| is_alive(*pid)));
}

#[test]
fn a_cancelled_call_ends_its_command() {
    let TestShell { rig, .. } = &shell();
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            eventually("the family is there", || pids(&rig.printed()).len() == FAMILY_SIZE);
            rig.cancel.cancel();
        });
        rig.refusal("run_shell", json!({"command": format!("{FAMILY}\nwait")}))
    });
    assert!(said.contains("cancelled after"), "{said}");
    all_gone(&pids(&said));
}

#[test]
fn a_call_that_nobody_waits_for_ends_its_command() {
    let TestShell { rig, root, .. } = &shell();
    let tool = rig.tool("run_shell");
    let mut call = tool.call(object(json!({"command": "echo $$; sleep 300"})), rig.context(root));
    assert!(matches!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
    eventually("the command runs", || !pids(&rig.printed()).is_empty());
    drop(call);
    all_gone(&pids(&rig.printed()));
}

#[test]
fn a_background_command_is_watched_and_ended() {
    let TestShell { rig, .. } = &mut shell();
    let started = rig.text("run_shell", json!({"command": "echo $$; echo ready; sleep 300", "background": true}));
    assert!(started.contains("as sh1"), "{started}");
    let printed = |rig: &TestToolHost| rig.text("shell_output", json!({"id": "sh1", "since": 0}));
    eventually("it is ready", || printed(rig).lines().any(|line| line == "ready"));
    let output = printed(rig);
    assert!(output.contains("has been running for"), "{output}");
    let next: usize = output.rsplit_once("since: ").unwrap().1.trim_end_matches([']', '.']).parse().unwrap();
    assert!(rig.text("shell_output", json!({"id": "sh1", "since": next})).starts_with("[sh1"));
    rig.session = "another".to_owned();
    assert!(rig.refusal("shell_kill", json!({"id": "sh1"})).contains("Known ones: none"));
    rig.session = "session".to_owned();
    assert!(rig.refusal("shell_status", json!({"id": "sh9"})).contains("Known ones: sh1"));
    rig.text("shell_kill", json!({"id": "sh1"}));
    eventually("it has ended", || rig.text("shell_status", json!({"id": "sh1"})).contains("ended: cancelled"));
    all_gone(&pids(&output));
    assert!(rig.text("shell_kill", json!({"id": "sh1"})).contains("ended"));
    assert_eq!(records(rig), 0);
}

#[test]
fn a_background_command_that_ends_by_itself_is_told() {
    let TestShell { rig, .. } = &shell();
    rig.text("run_shell", json!({"command": "echo done; exit 7", "background": true}));
    eventually("it has ended", || rig.text("shell_status", json!({"id": "sh1"})).contains("exit code 7"));
    assert!(rig.text("shell_output", json!({"id": "sh1"})).starts_with("done\n[sh1 ended: exit code 7"));
    rig.text("run_shell", json!({"command": "sleep 300", "background": true, "timeout_ms": 100}));
    eventually("its time is up", || rig.text("shell_status", json!({"id": "sh2"})).contains("timed out"));
}

#[test]
fn background_commands_are_few_and_end_with_the_program() {
    let TestShell { rig, .. } = &shell();
    for _ in 0..8 {
        rig.text("run_shell", json!({"command": "echo $$; exec sleep 300", "background": true}));
    }
    assert!(rig.refusal("run_shell", json!({"command": "true", "background": true})).contains("shell_kill"));
    let output = |index: usize| rig.text("shell_output", json!({"id": format!("sh{index}")}));
    eventually("all run", || (1..=8).all(|index| !pids(&output(index)).is_empty()));
    let running: Vec<i32> = (1..=8).flat_map(|index| pids(&output(index))).collect();
    rig.shut_down();
    all_gone(&running);
}

/// Started again as another process, this test binary does one thing; the test starts it and reads its output.
const ROLE: &str = "TOOL_SHELL_TEST_ROLE";

struct HelperProcess {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl HelperProcess {
    fn start(role: &str, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "helper_process", "--nocapture", "--test-threads=1"])
            .env(ROLE, format!("{role} {}", folder.display()))
            .env("DISPATCH_API_KEY", "the-key")
            .env("OPENAI_API_KEY", "the-other-key")
            .env("CARGO_HOME", "/a/cargo")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "the helper ended without output");
            if let Some((_, word)) = line.trim_end().split_once('!') {
                return word.to_owned();
            }
        }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for HelperProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn helper_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let (role, folder) = role.split_once(' ').unwrap();
    let root = Path::new(folder).join("root");
    let pass = ("extensions.tool-shell.pass_variables", json!(["CARGO_HOME", "DISPATCH_API_KEY"]));
    let rig = TestToolHost::new(vec![ext_tool_shell::extension()], &root, &[pass]);
    let say = |word: &str| {
        println!("!{word}");
        std::io::stdout().flush().unwrap();
    };
    let family = format!("{FAMILY}\nwait");
    match role {
        "environment" => say(&rig.text("run_shell", json!({"command": "env"})).replace('\n', " ")),
        "foreground" => std::thread::scope(|scope| {
            scope.spawn(|| {
                eventually("the family is there", || pids(&rig.printed()).len() == FAMILY_SIZE);
                say(&rig.printed().replace('\n', " "));
            });
            rig.call("run_shell", json!({ "command": family })).unwrap();
        }),
        "background" => {
            rig.text("run_shell", json!({"command": family, "background": true}));
            let output = || rig.text("shell_output", json!({"id": "sh1"}));
            eventually("the family is there", || pids(&output()).len() == FAMILY_SIZE);
            say(&output().replace('\n', " "));
            loop {
                std::thread::park();
            }
        }
        other => panic!("no role {other}"),
    }
}

#[test]
fn keys_of_the_program_never_reach_a_command() {
    let TestShell { folder, .. } = &shell();
    let said = HelperProcess::start("environment", folder.path()).hear();
    assert!(said.contains("PATH=") && said.contains("CARGO_HOME=/a/cargo") && said.contains("GIT_PAGER=cat"), "{said}");
    assert!(!said.contains("the-key") && !said.contains("the-other-key") && !said.contains("API_KEY"), "{said}");
}

#[test]
fn nothing_outlives_a_program_that_is_killed() {
    for role in ["foreground", "background"] {
        let TestShell { folder, .. } = &shell();
        let mut program = HelperProcess::start(role, folder.path());
        let family = pids(&program.hear());
        assert_eq!(family.len(), FAMILY_SIZE);
        assert!(family.iter().all(|pid| is_alive(*pid)));
        program.kill();
        all_gone(&family);
    }
}

#[test]
fn what_even_the_guardian_could_not_end_is_ended_at_the_next_start() {
    let TestShell { folder, root, .. } = &shell();
    let mut program = HelperProcess::start("background", folder.path());
    let family = pids(&program.hear());
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", family[0])).unwrap();
    let guardian: i32 = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap();
    let program_id = program.child.id().cast_signed();
    signal(program_id, "-STOP");
    signal(guardian, "-KILL");
    program.kill();
    // What cleared its environment and left the family is beyond every trace, so it is ended here.
    let (traced, lost): (Vec<i32>, Vec<i32>) = family.iter().partition(|pid| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(21).any(|window| window == b"DISPATCH_PROCESS_TREE")
    });
    lost.iter().filter(|pid| is_alive(**pid)).for_each(|pid| signal(*pid, "-KILL"));
    assert!(traced.iter().any(|pid| is_alive(*pid)), "something is left to be swept");
    let next = TestToolHost::new(vec![ext_tool_shell::extension()], root, &[]);
    all_gone(&family);
    assert!(next.logged().iter().any(|line| line.contains("crashed run")), "{:?}", next.logged());
    assert_eq!(records(&next), 0);
}

#[test]
fn the_sandbox_confines_writes_or_refuses_to_run() {
    let TestShell { rig, folder, root, .. } = &shell_with(&[("extensions.tool-shell.sandbox", json!("workspace"))]);
    if let Err(ConfinementError::Unavailable { .. }) = WriteConfinement::below(&[root]) {
        assert!(rig.refusal("run_shell", json!({"command": "true"})).contains("sandbox"));
        assert!(rig.logged().iter().any(|line| line.contains("sandbox")));
        return;
    }
    rig.text("run_shell", json!({"command": "echo x > inside && cat inside > /dev/null && mkdir -p a/b && rm -r a"}));
    // Temporary folders stay writable, and this test lives in one; the home folder is none.
    let home = PathBuf::from(std::env::var("HOME").unwrap());
    let outside = home.join(format!(".dispatch-sandbox-test-{}", std::process::id()));
    let refused = rig.refusal("run_shell", json!({"command": format!("echo x > {}", outside.display())}));
    assert!(refused.contains("exit code") && !outside.exists(), "{refused}");
    assert!(folder.path().exists());
}
