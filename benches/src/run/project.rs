//! A home and a project for the binary under measurement, cut off from the user's own.

use anyhow::{Context as _, Result, anyhow};
use dispatch_support::{ScriptedModel, Served};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(super) struct ServedProject {
    folder: tempfile::TempDir,
    program: PathBuf,
    base_url: String,
}

impl ServedProject {
    pub(super) fn new(program: &Path, model: &ScriptedModel) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir_all(folder.path().join("project/.git"))?;
        std::fs::create_dir_all(folder.path().join("home"))?;
        Ok(Self { folder, program: program.to_owned(), base_url: model.base_url() })
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, base_url: &str, arguments: &[&str]) -> Command {
        let home = self.folder().join("home");
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.folder().join("project")).env_clear();
        command.env("HOME", &home).env("DISPATCH_HOME", &home).env("DISPATCH_BASE_URL", base_url);
        command.env("DISPATCH_MODEL", "scripted").env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    /// A server that is ready.
    pub(super) fn serve(&self) -> Result<Served> {
        self.serve_at(&self.base_url)
    }

    /// The same with another model.
    pub(super) fn serve_with(&self, model: &ScriptedModel) -> Result<Served> {
        self.serve_at(&model.base_url())
    }

    fn serve_at(&self, base_url: &str) -> Result<Served> {
        let child = self.command(base_url, &["serve", "--listen", "127.0.0.1:0"]).spawn()?;
        Served::over(child, &self.folder().join("home")).map_err(|child| anyhow!("the server did not start: {child:?}"))
    }

    /// From the start of a process to the first byte of its output.
    pub(super) fn time_to_first_byte(&self, arguments: &[&str]) -> Result<Duration> {
        let start = Instant::now();
        let mut child = self.command(&self.base_url, arguments).spawn()?;
        let mut output = child.stdout.take().context("its output")?;
        output.read_exact(&mut [0])?;
        let time = start.elapsed();
        output.read_to_end(&mut Vec::new())?;
        child.wait()?;
        Ok(time)
    }
}
