//! Workspaces as `init --full` leaves them, and the programs that are run in them.

use crate::process::{Program, target_folder};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const MODULE: &str = include_str!("module.mjs");
const RUNNER: &str = include_str!("runner.mjs");
const SCRIPTS: u32 = 8;
const SESSION: &str = "bench";
/// Enough events that every later one finds a full tail.
const FILLING_EVENTS: u32 = 60;
/// A valgrind run is slow; the budget must not end it.
const PATIENT_BUDGET: &str = r#""PreToolUse": 60000"#;

/// Whether script modules are enabled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scripts {
    None,
    Eight,
}

/// A workspace with every module enabled, and its own home.
pub(super) struct GuardWorkspace {
    folder: TempDir,
}

impl GuardWorkspace {
    pub(super) fn new(dispatch: &Path, scripts: Scripts) -> Result<Self> {
        let workspace = Self { folder: tempfile::tempdir()? };
        fs::create_dir_all(workspace.root())?;
        run(Command::new("git").args(["init", "--quiet"]).current_dir(workspace.root()))?;
        workspace.dispatch(dispatch, &["init", "--full", "--host", "claude-code"])?;
        let manifest = workspace.root().join(".ai/hooks/dispatch.manifest.json");
        let mut text = fs::read_to_string(&manifest)?.replace(r#""PreToolUse": 300"#, PATIENT_BUDGET);
        ensure!(text.contains(PATIENT_BUDGET), "the manifest has no budget for PreToolUse");
        if scripts == Scripts::Eight {
            let names: Vec<String> = (1..=SCRIPTS).map(|number| format!("bench-{number}")).collect();
            for name in &names {
                let file = workspace.script(name);
                fs::create_dir_all(file.parent().context("a folder")?)?;
                fs::write(file, MODULE.replace("MODULE_NAME", name))?;
            }
            let entries: String =
                names.iter().map(|name| format!("{{\"name\": \"{name}\", \"enabled\": true}}, ")).collect();
            text = text.replacen("\"modules\": [", &format!("\"modules\": [{entries}"), 1);
        }
        fs::write(&manifest, text)?;
        if scripts == Scripts::Eight {
            // Approving is for a person at a terminal, unless the user said otherwise.
            fs::create_dir_all(workspace.home().join("config"))?;
            fs::write(workspace.home().join("config/dispatch.toml"), "[policy]\nconfirm = \"none\"\n")?;
            workspace.dispatch(dispatch, &["trust", "--all"])?;
        }
        Ok(workspace)
    }

    /// The same rules again in a folder below and as the user's own.
    pub(super) fn add_roots(&self) -> Result<()> {
        let hooks = self.root().join(".ai/hooks");
        for other in [self.inner().join(".ai/hooks"), self.home().join("config/hooks")] {
            fs::create_dir_all(&other)?;
            for name in ["dispatch.manifest.json", "config.json", "followup-rules.json", "rlm-policy.json"] {
                fs::copy(hooks.join(name), other.join(name)).with_context(|| format!("{name} is not there"))?;
            }
        }
        Ok(())
    }

    /// The folder below; the event of all roots comes from it.
    pub(super) fn inner(&self) -> PathBuf {
        self.root().join("inner")
    }

    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn script(&self, name: &str) -> PathBuf {
        self.root().join(".ai/hooks/features").join(name).join("hook.mjs")
    }

    pub(super) fn floor_log(&self) -> String {
        self.folder.path().join("floor.jsonl").display().to_string()
    }

    /// The command that `init` registers.
    pub(super) fn hook(&self, label: &'static str, path: &Path) -> Program {
        let mut program = Program::new(label, path, &["PreToolUse", "--host", "claude-code"]);
        program.variables.push(("DISPATCH_HOME".to_owned(), self.home().display().to_string()));
        program
    }

    /// Node and Bun with the same scripts, where they are there.
    pub(super) fn peers(&self, node: Option<PathBuf>, bun: Option<PathBuf>) -> Vec<Program> {
        let runner = self.folder.path().join("runner.mjs");
        if fs::write(&runner, RUNNER).is_err() {
            return Vec::new();
        }
        let mut arguments = vec![runner.display().to_string(), self.floor_log()];
        arguments.extend((1..=SCRIPTS).map(|number| self.script(&format!("bench-{number}")).display().to_string()));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let peer = |label, path: Option<PathBuf>| path.map(|path| Program::new(label, &path, &arguments));
        [peer("Node, eight modules", node), peer("Bun, eight modules", bun)].into_iter().flatten().collect()
    }

    fn dispatch(&self, dispatch: &Path, arguments: &[&str]) -> Result<()> {
        run(Command::new(dispatch)
            .args(arguments)
            .current_dir(self.root())
            .env("DISPATCH_HOME", self.home())
            .stdout(Stdio::null()))
    }

    /// Events until the part of the log that is looked at is full.
    pub(super) fn fill_tail(&self, hook: &Path) -> Result<()> {
        let program = self.hook("", hook);
        for number in 0..FILLING_EVENTS {
            program.run(&payload(self.root(), 1_000_000 + number))?;
        }
        Ok(())
    }

    fn log(&self) -> Result<PathBuf> {
        let sessions = fs::read_dir(self.root().join(".ai/tmp"))?;
        let logs = sessions.flatten().map(|entry| entry.path().join("events.jsonl"));
        logs.into_iter().find(|path| path.is_file()).context("no session has a log")
    }

    /// Leaves the session as it is, but for its log.
    pub(super) fn empty_log(&self) -> Result<()> {
        Ok(fs::write(self.log()?, "")?)
    }

    /// Repeats the records that are there until the log has this length.
    pub(super) fn lengthen_log(&self, bytes: u64) -> Result<()> {
        let path = self.log()?;
        let records = fs::read(&path)?;
        let mut file = fs::OpenOptions::new().append(true).open(&path)?;
        let chunk = records.repeat(32);
        let mut written = records.len() as u64;
        while written < bytes {
            file.write_all(&chunk)?;
            written += chunk.len() as u64;
        }
        Ok(())
    }

    /// Other sessions with files like those of the one that is there.
    pub(super) fn add_sessions(&self, count: u32) -> Result<()> {
        let log = self.log()?;
        let session = log.parent().context("a session")?;
        for number in 0..count {
            let other = session.with_file_name(format!("{number:08x}"));
            fs::create_dir_all(other.join("locks"))?;
            for name in ["events.jsonl", "state.json"] {
                fs::copy(session.join(name), other.join(name))?;
            }
        }
        Ok(())
    }
}

/// A tool call as a host sends it; each round is another call.
pub(super) fn payload(root: &Path, round: u32) -> Vec<u8> {
    payload_of("cargo test --workspace", root, round)
}

/// The same with this command.
pub(super) fn payload_of(command: &str, root: &Path, round: u32) -> Vec<u8> {
    let number = std::process::id();
    serde_json::json!({
        "session_id": SESSION,
        "transcript_path": "/tmp/transcript.jsonl",
        "cwd": root,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Run the tests"},
        "tool_use_id": format!("toolu_{number}_{round}_{}", NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
    })
    .to_string()
    .into_bytes()
}

static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

/// What `cargo xtask dist` put into `target/dist`, if it was run.
pub(super) fn shipped(name: &str) -> Result<Option<PathBuf>> {
    Ok(Some(target_folder()?.join("dist").join(name)).filter(|path| path.is_file()))
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{command:?} cannot be started"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
