//! Turns a command into a child: which shell, where, in which environment, within which bounds.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dispatch_contracts::tool::ToolError;
use dispatch_os::{CaptureLimit, ChildSpec, Confined, DescendantPolicy, WriteConfinement, environment, files};

use crate::settings::{OverlapPolicy, SandboxMode, ShellSettings};

/// The longest command; the system takes no longer argument.
const MAX_COMMAND_BYTES: usize = 120 * 1024;
/// How long a command that is stopped may take to end by itself; shorter than a cancelled call has.
const GRACE: Duration = Duration::from_secs(1);
/// Keeps programs from waiting for a person at a terminal.
const VARIABLES: &[(&str, &str)] = &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];
/// Folders that programs write in without a second thought.
const TEMPORARY_FOLDERS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/dev/pts"];

/// Where and how commands run, apart from what each call says.
pub(crate) struct Shell {
    program: PathBuf,
    records: PathBuf,
    settings: ShellSettings,
}

impl Shell {
    pub(crate) fn new(settings: ShellSettings, records: PathBuf) -> Self {
        Self { program: find_shell(), records, settings }
    }

    pub(crate) fn overlap(&self) -> OverlapPolicy {
        self.settings.overlap
    }

    pub(crate) fn check(command: &str) -> Result<(), ToolError> {
        if command.trim().is_empty() {
            return Err(ToolError("command is empty. Say what to run.".to_owned()));
        }
        if command.contains('\0') {
            return Err(ToolError("command holds a zero byte, which no shell can read.".to_owned()));
        }
        if command.len() > MAX_COMMAND_BYTES {
            return Err(ToolError(format!(
                "command has {} bytes, and the limit is {MAX_COMMAND_BYTES}. Write a script with write_file and run that.",
                command.len()
            )));
        }
        Ok(())
    }

    /// The child for a command.
    pub(crate) fn child(
        &self,
        command: &str,
        workspace: &Confined,
        folder: &Path,
        timeout: Option<Duration>,
    ) -> Result<ChildSpec, ToolError> {
        let mut child = ChildSpec::new(&self.program)
            .arg("-c")
            .arg(command)
            .working_folder(folder)
            .capture(CaptureLimit::NOTHING)
            .grace(GRACE)
            .descendants(DescendantPolicy::Guarded)
            .record_in(&self.records);
        for (name, value) in VARIABLES {
            child = child.variable(name, value);
        }
        for name in &self.settings.pass_variables {
            child = child.pass_variable(name);
        }
        if let Some(timeout) = timeout {
            child = child.timeout(timeout);
        }
        match self.settings.sandbox {
            SandboxMode::Off => Ok(child),
            SandboxMode::Workspace => Ok(child.confine_writes(self.confinement(workspace.root())?)),
        }
    }

    /// Where commands may write. Without it nothing runs: who asked for a sandbox does not want to do without.
    pub(crate) fn confinement(&self, workspace: &Path) -> Result<WriteConfinement, ToolError> {
        let temporary = environment::variable_path("TMPDIR");
        let chosen = self.settings.sandbox_writable.iter().map(PathBuf::from);
        let others = TEMPORARY_FOLDERS.iter().map(PathBuf::from).chain(temporary).chain(chosen);
        let others: Vec<PathBuf> = others.filter(|folder| files::is_dir(folder)).collect();
        let folders: Vec<&Path> = std::iter::once(workspace).chain(others.iter().map(PathBuf::as_path)).collect();
        WriteConfinement::below(&folders).map_err(|error| {
            ToolError(format!(
                "Nothing was run: the settings ask for a sandbox (extensions.tool-shell.sandbox), and {error}."
            ))
        })
    }
}

/// `bash` if there is one, else `sh`.
fn find_shell() -> PathBuf {
    let path = environment::variable_os("PATH").unwrap_or_default();
    let folders = environment::split_paths(&path).filter(|folder| folder.is_absolute());
    let bash = folders.map(|folder| folder.join("bash")).find(|file| files::is_file(file));
    bash.unwrap_or_else(|| PathBuf::from("sh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_cannot_run_are_refused_with_a_reason() {
        for (command, reason) in [("", "empty"), (" \n", "empty"), ("a\0b", "zero byte")] {
            assert!(Shell::check(command).unwrap_err().0.contains(reason));
        }
        assert!(Shell::check(&"x".repeat(MAX_COMMAND_BYTES + 1)).unwrap_err().0.contains("script"));
        assert!(Shell::check("true").is_ok());
    }
}
