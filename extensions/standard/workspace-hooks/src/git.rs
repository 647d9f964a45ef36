//! What a hook of git means for workspace hooks.

mod commit;

use crate::contract::{Event, GIT_HOOKS, Source, Trigger};
use dispatch_os::files;
use dispatch_os::{CaptureLimit, ChildSpec};
use serde_json::{Map, Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The hook of git that `gitCommit` stands for.
pub const POST_COMMIT: &str = "post-commit";
/// More arguments than any hook of git has.
const MAX_ARGUMENTS: usize = 32;
const HEAD: &str = "HEAD";
const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_OUTPUT_BYTES: usize = 16 * 1024 * 1024;
/// What a hook of git needs to see the same repository as its caller.
const PASSED_ON: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "XDG_CONFIG_HOME",
];

/// The event of a hook of git; `None` for an unknown hook or outside of a repository. For a commit it names the commit,
/// its subject, its branch and the files of the workspace that it changed. `commit` is the one that git made; without
/// it HEAD counts, which may be a later one by now.
#[must_use]
pub fn git_event(workspace: &Path, hook: &str, commit: Option<&str>, arguments: &[String]) -> Option<Event> {
    let trigger = match hook {
        POST_COMMIT => Trigger::GitCommit,
        other if GIT_HOOKS.contains(&other) => Trigger::Git(other.to_owned()),
        _ => return None,
    };
    let repository = repository(workspace)?;
    let mut event = Event {
        trigger,
        workspace: workspace.to_owned(),
        files: Vec::new(),
        source: Source::Git,
        hook: None,
        id: None,
        metadata: Map::new(),
    };
    event.metadata.insert("repoRoot".to_owned(), json!(repository));
    event.metadata.insert("gitHook".to_owned(), json!(hook));
    if !arguments.is_empty() {
        let arguments: Vec<&String> = arguments.iter().take(MAX_ARGUMENTS).collect();
        event.metadata.insert("args".to_owned(), json!(arguments));
    }
    if let Some(branch) = ask(workspace, &["symbolic-ref", "--quiet", "--short", "HEAD"]) {
        event.metadata.insert("branch".to_owned(), Value::String(branch.trim_end().to_owned()));
    }
    if hook == POST_COMMIT {
        commit::describe(&mut event, commit.filter(|id| is_commit_id(id)).unwrap_or(HEAD))?;
    }
    Some(event)
}

/// A whole hash, so that no option and no other name of git is taken for one.
fn is_commit_id(id: &str) -> bool {
    (40..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The repository that a workspace is in, without links.
fn repository(workspace: &Path) -> Option<PathBuf> {
    let top = ask(workspace, &["rev-parse", "--show-toplevel"])?;
    let top = PathBuf::from(top.trim_end_matches(['\r', '\n']));
    Some(files::canonicalize(&top).unwrap_or(top))
}

/// What git says, if it says it well.
fn ask(workspace: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = ChildSpec::new("git")
        .working_folder(workspace)
        .args(["-c", "core.fsmonitor=false"])
        .args(arguments.iter().map(OsString::from))
        .timeout(TIMEOUT)
        .capture(CaptureLimit { head_bytes: MAX_OUTPUT_BYTES, tail_bytes: 0 });
    for name in PASSED_ON {
        command = command.pass_variable(name);
    }
    let outcome = command.run();
    (outcome.succeeded() && !outcome.stdout.is_truncated()).then(|| outcome.stdout.text())
}
