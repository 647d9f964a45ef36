//! A home and a workspace for the binary under measurement, and its log of runs.

use super::folder_watch::FolderWatch;
use crate::sample::Samples;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a save may take to be queued.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct ReactWorkspace {
    folder: PathBuf,
    program: PathBuf,
    folder_watch: FolderWatch,
    _kept: tempfile::TempDir,
}

impl ReactWorkspace {
    pub(super) fn new(program: &Path) -> Result<Self> {
        let kept = tempfile::tempdir()?;
        let folder = kept.path().canonicalize()?;
        std::fs::create_dir_all(folder.join("project/.git"))?;
        std::fs::create_dir_all(folder.join("home"))?;
        let logs = folder.join("project/.akira/logs");
        std::fs::create_dir_all(&logs)?;
        Ok(Self { folder, program: program.to_owned(), folder_watch: FolderWatch::of(&logs)?, _kept: kept })
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(super) fn variables(&self) -> Result<Vec<(String, String)>> {
        let home = self.home().to_str().context("a folder whose name is text")?.to_owned();
        Ok(vec![("HOME".to_owned(), home.clone()), ("DISPATCH_HOME".to_owned(), home)])
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.project()).env_clear();
        command.env("HOME", self.home()).env("DISPATCH_HOME", self.home());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    pub(super) fn approve(&self, hooks: &Value) -> Result<()> {
        self.write(".akira/hooks.json", &hooks.to_string())?;
        let status = self.command(&["trust", ".akira/hooks.json"]).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "the hooks could not be approved");
        Ok(())
    }

    /// Writes a file of the workspace.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.project().join(name);
        std::fs::create_dir_all(path.parent().context("a folder")?)?;
        Ok(std::fs::write(path, text)?)
    }

    fn log(&self) -> PathBuf {
        self.project().join(".akira/logs/hooks.log")
    }

    fn logged_bytes(&self) -> u64 {
        std::fs::metadata(self.log()).map_or(0, |found| found.len())
    }

    /// Begins the log anew, so that its file is never put aside during a measurement.
    pub(super) fn forget_log(&self) -> Result<()> {
        Ok(std::fs::write(self.log(), "")?)
    }

    /// How long the disk takes to keep a page.
    pub(super) fn disk(&self, times: u32, pause: Duration) -> Result<Samples> {
        let mut file = File::create(self.home().join("page"))?;
        let mut samples = Samples::default();
        for _ in 0..times {
            let start = Instant::now();
            file.write_all(&[0; 4096])?;
            file.sync_data()?;
            samples.add(start.elapsed());
            std::thread::sleep(pause);
        }
        Ok(samples)
    }

    /// How long it takes from an act to the next line of the log.
    pub(super) fn until_logged(&self, act: impl FnOnce() -> Result<()>) -> Result<Duration> {
        self.folder_watch.forget()?;
        let before = self.logged_bytes();
        let start = Instant::now();
        act()?;
        while self.logged_bytes() == before {
            ensure!(start.elapsed() < PATIENCE, "nothing was queued");
            self.folder_watch.wait(PATIENCE)?;
        }
        Ok(start.elapsed())
    }
}
