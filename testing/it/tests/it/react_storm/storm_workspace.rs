//! A workspace with hooks, what can be seen of it from outside, and a `dispatch watch` on it.

use dispatch_support::TestContext;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long something may take before the test has failed.
const PATIENCE: Duration = Duration::from_secs(240);

/// Builtins alone, so that little lies between a program's last act and its end.
const PROGRAM: &str = r#"#!/bin/sh
read -r event
hash=${event#*\"contentHash\":\"}; hash=${hash%%\"*}
attempt=${event#*\"attempt\":}; attempt=${attempt%%,*}
exec >>"$1"
echo "begin $DISPATCH_HOOK_ID"
[ -z "$2" ] || sleep "$2"
echo "end $DISPATCH_HOOK_ID ${DISPATCH_FILE##*/} $hash $DISPATCH_RUN_ID $attempt"
"#;

#[track_caller]
pub(super) fn wait_for(what: &str, reached: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !reached() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub(super) struct StormWorkspace {
    context: TestContext,
}

impl StormWorkspace {
    pub(super) fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let workspace = Self { context: TestContext::new() };
        std::fs::create_dir_all(workspace.outside("")).unwrap();
        std::fs::create_dir_all(workspace.context.project().join("src")).unwrap();
        std::fs::write(workspace.program(), PROGRAM).unwrap();
        std::fs::set_permissions(workspace.program(), std::fs::Permissions::from_mode(0o755)).unwrap();
        workspace
    }

    /// A file beside the workspace.
    pub(super) fn outside(&self, name: &str) -> PathBuf {
        self.context.home().with_file_name("outside").join(name)
    }

    pub(super) fn program(&self) -> PathBuf {
        self.outside("tell")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.outside("log")
    }

    pub(super) fn approve(&self, hooks: &Value) {
        self.context.write(".akira/hooks.json", hooks.to_string());
        let trusted = self.context.dispatch(&["trust", ".akira/hooks.json"]);
        assert_eq!(trusted.status, 0, "{trusted:?}");
    }

    /// Saves a file as an editor does: no content is there twice, and none by halves.
    pub(super) fn save(&self, file: u32, number: u32) {
        let path = self.context.project().join(format!("src/f{file}"));
        let beside = self.outside("being-saved");
        std::fs::write(&beside, format!("{file} {number}\n")).unwrap();
        std::fs::rename(beside, path).unwrap();
    }

    /// The name and the content hash of a file.
    pub(super) fn now(&self, file: u32) -> (String, String) {
        let name = format!("f{file}");
        let content = std::fs::read(self.context.project().join("src").join(&name)).unwrap();
        let hash = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        (name, hash)
    }

    pub(super) fn runs(&self) -> Vec<Value> {
        self.runs_in(&[])
    }

    pub(super) fn runs_in(&self, states: &[&str]) -> Vec<Value> {
        let mut arguments = vec!["runs", "list", "--json", "--limit", "1000000"];
        states.iter().for_each(|state| arguments.extend(["--status", state]));
        let listed = self.context.dispatch(&arguments);
        assert_eq!(listed.status, 0, "{listed:?}");
        listed.json().as_array().cloned().unwrap()
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.runs_in(&["queued", "running"]).is_empty()
    }

    /// The lock files of those who held runs.
    pub(super) fn owners(&self) -> Vec<String> {
        let found = Command::new("find").arg(self.context.home()).args(["-path", "*/hook-owners/*"]).output().unwrap();
        String::from_utf8_lossy(&found.stdout).lines().map(str::to_owned).collect()
    }
}

/// `dispatch watch`, killed when it is dropped.
pub(super) struct StormWatch {
    child: Child,
}

impl StormWatch {
    /// Returns when it watches.
    pub(super) fn start(workspace: &StormWorkspace) -> Self {
        let mut command = workspace.context.command("dispatch");
        command.args(["watch", "--json"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the executable starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let (told, watching) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok).filter(|line| line.contains("\"watching\"")) {
                let _ = told.send(line);
            }
        });
        let watch = Self { child };
        watching.recv_timeout(PATIENCE).expect("it watches");
        watch
    }

    pub(super) fn resident_kb(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end; gives its status.
    pub(super) fn stop(mut self) -> Option<i32> {
        let sent = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for StormWatch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
