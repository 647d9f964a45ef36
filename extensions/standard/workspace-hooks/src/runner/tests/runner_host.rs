//! A workspace, a state folder, a hook, and the executor on a real runtime.

use crate::contract::{
    Action, Budget, Change, FileChange, Hook, Retry, RunId, RunPlace, Runner, SessionScope, Trigger,
};
use crate::run_executor::{RunEnd, RunExecutor, RunJob, RunResult, SettledRun};
use crate::runner::child_record::ObservedWrites;
use crate::runner::output_redactor::OutputRedactor;
use crate::runner::run_state_folder::RunStateFolder;
use crate::runner::{RunAttempt, RunnerPorts, executor};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::Clock;
use dispatch_os::Deadline;
use ext_session_orchestrator::contract::Sessions;
use serde_json::Map;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

/// Matches a built-in form of secret.
pub(super) const CANARY: &str = "sk-proj-a1B2c3D4e5F6g7H8i9J0k1L2m3N4";
/// A limit that no healthy test reaches.
pub(super) const LONG_MS: u64 = 120_000;

pub(super) fn run<T>(main: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(main)
}

pub(super) struct RunnerHost {
    pub(super) folder: TempDir,
    pub(super) hook: Hook,
    pub(super) files: Vec<FileChange>,
    pub(super) sessions: Option<Arc<dyn Sessions>>,
    pub(super) cancel: CancelToken,
    pub(super) attempt: u32,
}

impl RunnerHost {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let hook = hook();
        Self { folder, hook, files: Vec::new(), sessions: None, cancel: CancelToken::new(), attempt: 1 }
    }

    pub(super) fn command(words: &[&str]) -> Self {
        let mut host = Self::new();
        host.hook.action = Action::Command(words.iter().map(|word| (*word).to_owned()).collect());
        host
    }

    /// A shell script; the shell is the program under test here, not how commands are run.
    pub(super) fn script(script: &str) -> Self {
        Self::command(&["sh", "-c", script])
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    pub(super) fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.workspace().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(super) fn about(&mut self, name: &str) {
        let content_hash = Some("0".repeat(64));
        self.files.push(FileChange { path: name.to_owned(), change: Change::Changed, content_hash });
    }

    pub(super) fn job(&self) -> RunJob {
        RunJob {
            run: RunId("run-1".to_owned()),
            hook: Arc::new(self.hook.clone()),
            workspace: self.workspace(),
            attempt: self.attempt,
            files: self.files.clone(),
            metadata: Map::from_iter([("commit".to_owned(), "abc".into())]),
            cancel: self.cancel.clone(),
        }
    }

    pub(super) fn ports(&self) -> RunnerPorts {
        RunnerPorts {
            state: self.state(),
            patterns: Vec::new(),
            allowed: Vec::new(),
            sessions: self.sessions.clone(),
            clock: Arc::new(WallClock),
        }
    }

    pub(super) fn executor(&self) -> Arc<dyn RunExecutor> {
        executor(self.ports())
    }

    /// Work on an attempt that the executor would have begun.
    pub(super) async fn attempt<T>(
        &self,
        job: &RunJob,
        work: impl for<'a> FnOnce(&'a RunAttempt<'a>) -> BoxFuture<'a, T>,
    ) -> T {
        let (ports, state_folder) = (self.ports(), RunStateFolder::new(self.state()));
        let attempt = RunAttempt {
            job,
            folder: self.workspace(),
            place: self.hook.place,
            redactor: Arc::new(OutputRedactor::of(&ports, &self.hook).unwrap()),
            deadline: Deadline::after_ms(self.hook.timeout_ms),
            clock: &ports.clock,
            state_folder: &state_folder,
            writes: ObservedWrites::default(),
            is_blind: &AtomicBool::new(false),
        };
        work(&attempt).await
    }

    pub(super) async fn execute(&self) -> RunResult {
        self.executor().execute(self.job()).await
    }

    /// How an attempt ended whose process is gone, if it did.
    pub(super) async fn settle(&self, run: &str, attempt: u32) -> Option<RunResult> {
        loop {
            match self.executor().settle(&RunId(run.to_owned()), attempt).await {
                SettledRun::Ended(result) => return Some(*result),
                SettledRun::Unfinished => return None,
                // A child that another test starts has all our files open for a moment.
                SettledRun::Pending => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }

    /// Puts an executable script into a folder and that folder first on the program's `PATH`.
    pub(super) fn program(&self, name: &str, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.folder.path().join("bin").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }
}

pub(super) fn hook() -> Hook {
    Hook {
        id: "check".to_owned(),
        trigger: Trigger::DidSave,
        pattern: Vec::new(),
        action: Action::Command(vec!["true".to_owned()]),
        runner: Runner::Agent { session: SessionScope::Hook },
        place: RunPlace::Tree,
        permissions: crate::contract::AgentPermissions::Read,
        batch: false,
        restart: false,
        chain: false,
        blocking: false,
        enabled: true,
        concurrency: 4,
        timeout_ms: LONG_MS,
        retry: Retry { count: 0, backoff_ms: 1_000, backoff_factor: 2.0 },
        debounce_ms: 200,
        rate_limit: None,
        budget: Budget::default(),
        allow_git: false,
        repo_root: None,
        schedule: None,
        secret_patterns: Vec::new(),
        pass_env: Vec::new(),
        tell_agent: false,
        metadata: Map::new(),
        fingerprint: String::new(),
    }
}

/// Why an attempt failed, and whether another would make sense.
pub(super) fn failure(result: &RunResult) -> (&str, crate::run_executor::RetryAdvice) {
    match &result.end {
        RunEnd::Failed { reason, again } => (reason, *again),
        end => panic!("it is {end:?}: {}", result.output),
    }
}

/// Everything below a folder, as one text.
pub(super) fn everything(folder: &Path) -> String {
    let mut text = String::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(path) = left.pop() {
        text.push_str(&path.to_string_lossy());
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()));
        }
    }
    text
}

pub(super) struct WallClock;

impl Clock for WallClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(dispatch_os::time::unix_ms()).unwrap()
    }

    fn monotonic_ms(&self) -> u64 {
        dispatch_os::time::monotonic_ms()
    }

    fn sleep_ms(&self, ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }
}
