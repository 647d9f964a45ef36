//! A home and a project for the binary under measurement, cut off from the user's own.

use anyhow::{Context as _, Result, anyhow, ensure};
use dispatch_support::{ScriptedModel, Served};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct ServedProject {
    folder: tempfile::TempDir,
    program: PathBuf,
    base_url: String,
    settings: Vec<String>,
}

impl ServedProject {
    pub(crate) fn new(program: &Path, model: &ScriptedModel) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir_all(folder.path().join("project/.git"))?;
        std::fs::create_dir_all(folder.path().join("home/config"))?;
        // Nobody sits at a terminal to confirm what is approved.
        std::fs::write(folder.path().join("home/config/dispatch.toml"), "[policy]\nconfirm = \"none\"\n")?;
        // Every request comes from one address.
        let settings = vec!["extensions.transport-http.requests_per_second=100000".to_owned()];
        Ok(Self { folder, program: program.to_owned(), base_url: model.base_url(), settings })
    }

    /// The same with this setting.
    pub(crate) fn with(mut self, setting: String) -> Self {
        self.settings.push(setting);
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, home: &Path, base_url: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(self.folder().join("project")).env_clear();
        command.args(self.settings.iter().flat_map(|setting| ["--set", setting]));
        command.env("HOME", home).env("DISPATCH_HOME", home).env("DISPATCH_BASE_URL", base_url);
        command.env("DISPATCH_MODEL", "scripted").env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    }

    /// Runs a command to its end; it must succeed.
    pub(crate) fn finish(&self, arguments: &[&str]) -> Result<()> {
        let output =
            self.command(&self.folder().join("home"), &self.base_url, arguments).stderr(Stdio::piped()).output()?;
        let told = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`dispatch {}` failed: {told}", arguments.join(" "));
        Ok(())
    }

    /// Writes an extension into the project, which nobody has approved yet.
    pub(crate) fn add_extension(&self, id: &str, manifest: &Value, code: &str) -> Result<()> {
        let folder = self.folder().join("project/.dispatch/extensions").join(id);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("manifest.json"), manifest.to_string())?;
        Ok(std::fs::write(folder.join("index.ts"), code)?)
    }

    /// A server that is ready.
    pub(crate) fn serve(&self) -> Result<Served> {
        self.serve_at("home", &self.base_url)
    }

    /// The same with another model.
    pub(crate) fn serve_with(&self, model: &ScriptedModel) -> Result<Served> {
        self.serve_at("home", &model.base_url())
    }

    /// One of several servers in the same project, with a home of its own.
    pub(crate) fn serve_node(&self, number: usize) -> Result<Served> {
        let home = format!("home{number}");
        std::fs::create_dir_all(self.folder().join(&home))?;
        self.serve_at(&home, &self.base_url)
    }

    fn serve_at(&self, home: &str, base_url: &str) -> Result<Served> {
        let home = self.folder().join(home);
        let child = self.command(&home, base_url, &["serve", "--listen", "127.0.0.1:0"]).spawn()?;
        Served::over(child, &home).map_err(|child| anyhow!("the server did not start: {child:?}"))
    }

    /// From the start of a process to the first byte of its output.
    pub(crate) fn time_to_first_byte(&self, arguments: &[&str]) -> Result<Duration> {
        let start = Instant::now();
        let mut child = self.command(&self.folder().join("home"), &self.base_url, arguments).spawn()?;
        let mut output = child.stdout.take().context("its output")?;
        output.read_exact(&mut [0])?;
        let time = start.elapsed();
        output.read_to_end(&mut Vec::new())?;
        child.wait()?;
        Ok(time)
    }
}
