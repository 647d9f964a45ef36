//! Disks that take nothing any more: the host gets its answer all the same, and what was there stays there.
//!
//! A read-only and a full disk are real mounts in a namespace of their own where the system permits that. It does not
//! on every machine, so each is shown a second way that needs no permission, always: by the permissions of the files
//! and by a limit on the size of files.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::conformance::PipelineWorkspace;
use dispatch_support::TestContext;
use serde_json::{Value, json};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BUDGET_MS: u64 = 5_000;
/// What a loaded machine may add to the budget.
const MARGIN: Duration = Duration::from_secs(5);
/// The exit code of a script that was not permitted to mount.
const NOT_PERMITTED: i32 = 97;
/// Somebody who owns nothing.
const NOBODY: u32 = 65_534;

/// Makes the project read-only; `$PROJECT` is its folder.
const READ_ONLY: &str = r#"mount --bind "$PROJECT" "$PROJECT" && mount -o remount,ro,bind "$PROJECT""#;
/// Puts the work folder on a disk of 64 KiB and fills it up.
const FULL: &str = r#"cp -a "$PROJECT/.ai/tmp" "$OUT/saved" &&
    mount -t tmpfs -o size=64k tmpfs "$PROJECT/.ai/tmp" &&
    cp -a "$OUT/saved/." "$PROJECT/.ai/tmp/" &&
    ! cat /dev/zero > "$PROJECT/.ai/tmp/filler""#;

/// What one process on a broken disk came to.
#[derive(Debug)]
struct CommandEnd {
    status: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
    /// The log as it was on that disk afterwards.
    log: String,
}

/// A session with a history, in a world that guards.
fn lived_in() -> PipelineWorkspace {
    let budgets = json!({"PreToolUse": BUDGET_MS, "UserPromptSubmit": BUDGET_MS, "Stop": BUDGET_MS});
    let workspace = PipelineWorkspace::ruled_by(
        &json!({"modules": ["session", "self-guard", "graph-pretooluse"], "budgets": budgets}),
    );
    workspace.prompt("go");
    workspace.bash("ls");
    workspace
}

fn executable(context: &TestContext) -> PathBuf {
    PathBuf::from(context.command("dispatch-hook").get_program())
}

/// The events that every disk is tried with, and the decision that the host must hear.
fn events(workspace: &PipelineWorkspace) -> Vec<(&'static str, Value, &'static str)> {
    let call = |command: &str| json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command});
    vec![
        ("PreToolUse", workspace.payload("PreToolUse", &call("ls -l")), "allow"),
        ("PreToolUse", workspace.payload("PreToolUse", &call("rm -rf /srv/data")), "deny"),
        ("UserPromptSubmit", workspace.payload("UserPromptSubmit", &json!({"prompt": "more"})), "allow"),
        ("SessionStart", workspace.payload("SessionStart", &json!({"session_id": "never seen before"})), "allow"),
    ]
}

/// Runs the hook on a disk that `prepare` makes in a namespace of its own; nothing if that is not permitted.
fn on_disk(workspace: &PipelineWorkspace, prepare: &str, event: &str, payload: &Value) -> Option<CommandEnd> {
    let out = tempfile::tempdir().unwrap();
    std::fs::write(out.path().join("payload"), payload.to_string()).unwrap();
    let script = format!(
        r#"{{ {prepare} ; }} 2> "$OUT/refused" || exit {NOT_PERMITTED}
        date +%s%N > "$OUT/began"
        "$HOOK" {event} --host native < "$OUT/payload" > "$OUT/stdout" 2> "$OUT/stderr"
        status=$?
        date +%s%N > "$OUT/ended"
        cat "$PROJECT/.ai/tmp/ba7816bf/events.jsonl" > "$OUT/log"
        exit $status"#
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("OUT", out.path());
    command.env("HOOK", executable(&workspace.context)).env("PROJECT", workspace.context.project());
    command.env("HOME", workspace.context.home()).env("DISPATCH_HOME", workspace.context.home());
    let status = command.current_dir("/").stdin(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let text = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap_or_default();
    if status.code() == Some(NOT_PERMITTED) || text("began").is_empty() {
        return None;
    }
    let nanos = |name: &str| text(name).trim().parse::<u64>().unwrap();
    let took = Duration::from_nanos(nanos("ended").saturating_sub(nanos("began")));
    Some(CommandEnd { status: status.code(), stdout: text("stdout"), stderr: text("stderr"), took, log: text("log") })
}

/// Runs a command that starts the hook.
fn finish(workspace: &PipelineWorkspace, mut command: Command, payload: &Value) -> CommandEnd {
    use std::io::Write;
    let started = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the hook starts");
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommandEnd {
        status: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
        took: started.elapsed(),
        log: workspace.text("events.jsonl"),
    }
}

/// Runs the hook as somebody who may read everything here and write nothing.
fn without_permission(workspace: &PipelineWorkspace, event: &str, payload: &Value) -> CommandEnd {
    let base = workspace.context.project().parent().unwrap().to_owned();
    seal(&base, 0o555, 0o444);
    let shared = shared_executable(&workspace.context);
    let mut command = Command::new(shared.path().join("dispatch-hook"));
    command.current_dir(workspace.context.project()).env_clear();
    command.env("HOME", workspace.context.home()).env("DISPATCH_HOME", workspace.context.home());
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.args([event, "--host", "native"]);
    let ended = finish(workspace, command, payload);
    seal(&base, 0o755, 0o644);
    ended
}

/// The executable in a folder that everybody can enter, wherever it was built.
fn shared_executable(context: &TestContext) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (from, to) = (executable(context), folder.path().join("dispatch-hook"));
    std::fs::hard_link(&from, &to).or_else(|_| std::fs::copy(&from, &to).map(drop)).unwrap();
    folder
}

fn seal(folder: &Path, folders: u32, files: u32) {
    // From the inside out when sealing, from the outside in when opening: both need the folder to be open.
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(folder, 0o755);
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => seal(&entry.path(), folders, files),
            false => set(&entry.path(), files),
        }
    }
    set(folder, folders);
}

/// Runs the hook so that no file can grow beyond so many blocks of 512 bytes.
fn with_limit(workspace: &PipelineWorkspace, blocks: u64, event: &str, payload: &Value) -> CommandEnd {
    let hook = executable(&workspace.context);
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$HOOK\" {event} --host native");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env_clear().env("HOOK", hook).current_dir(workspace.context.project());
    command.env("HOME", workspace.context.home()).env("DISPATCH_HOME", workspace.context.home());
    finish(workspace, command, payload)
}

fn answered(ended: &CommandEnd, decision: &str, case: &str) {
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{case}: {error} {ended:?}"));
    assert_eq!(answer["decision"], decision, "{case}: {ended:?}");
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""), "{case}");
    assert!(ended.took < Duration::from_millis(BUDGET_MS) + MARGIN, "{case}: {:?}", ended.took);
}

#[test]
fn on_a_read_only_disk_the_host_gets_its_answer_and_nothing_is_lost() {
    let workspace = lived_in();
    let (log, state) = (workspace.text("events.jsonl"), workspace.state());
    for (event, payload, decision) in events(&workspace) {
        if let Some(ended) = on_disk(&workspace, READ_ONLY, event, &payload) {
            answered(&ended, decision, &format!("mounted read-only, {event}"));
            assert_eq!(ended.log, log, "{event}");
        }
        let ended = without_permission(&workspace, event, &payload);
        answered(&ended, decision, &format!("without permission, {event}"));
        assert_eq!((ended.log, workspace.state()), (log.clone(), state.clone()), "{event}");
    }
    assert_eq!(workspace.decision("echo again"), "allow", "and when the disk is back, so is everything");
    assert!(workspace.text("events.jsonl").starts_with(&log));
}

#[test]
fn on_a_full_disk_the_host_gets_its_answer_and_nothing_is_lost() {
    let workspace = lived_in();
    let (log, state) = (workspace.text("events.jsonl"), workspace.state());
    for (event, payload, decision) in events(&workspace) {
        if let Some(ended) = on_disk(&workspace, FULL, event, &payload) {
            answered(&ended, decision, &format!("full disk, {event}"));
            assert!(ended.log.starts_with(&log), "{event}");
        }
        let ended = with_limit(&workspace, 0, event, &payload);
        answered(&ended, decision, &format!("no room, {event}"));
        assert_eq!((ended.log, workspace.state()), (log.clone(), state.clone()), "{event}");
    }
    assert_eq!(workspace.decision("echo again"), "allow");
    assert!(workspace.text("events.jsonl").starts_with(&log));
}

#[test]
fn a_line_that_found_no_room_for_its_end_is_closed_by_the_next_one() {
    let workspace = lived_in();
    let before = workspace.text("events.jsonl");
    let blocks = before.len() as u64 / 512 + 1;
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "rm -rf /srv/data"}, "tool_use_id": "cut"});
    let ended = with_limit(&workspace, blocks, "PreToolUse", &workspace.payload("PreToolUse", &call));
    answered(&ended, "deny", "room for half a line");
    let cut = workspace.text("events.jsonl");
    assert!(cut.starts_with(&before) && cut.len() as u64 == blocks * 512, "{} of {}", cut.len(), blocks * 512);
    assert_eq!(workspace.decision("echo after"), "allow");
    let log = workspace.text("events.jsonl");
    assert!(log.starts_with(&cut), "nothing is taken away");
    let unreadable = log.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count();
    assert_eq!(unreadable, 1, "one torn line, and it stays one");
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["turnId"]), (&json!("HOOK_RUN"), &json!(1)));
}
