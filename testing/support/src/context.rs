//! A temporary home and a temporary project, and the executables run in them.

use crate::output::Output;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// One test's world: nothing outside it is read or written.
pub struct TestContext {
    root: TempDir,
}

impl Default for TestContext {
    fn default() -> Self {
        Self::new()
    }
}

impl TestContext {
    /// An empty home and an empty project that is a git repository by its marker alone.
    ///
    /// # Panics
    /// When the temporary folder cannot be made.
    #[must_use]
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let context = Self { root };
        for folder in [context.home(), context.project().join(".git")] {
            std::fs::create_dir_all(folder).expect("folders of the test");
        }
        context
    }

    /// What `DISPATCH_HOME` is set to.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.base().join("home")
    }

    /// The folder that commands run in.
    #[must_use]
    pub fn project(&self) -> PathBuf {
        self.base().join("project")
    }

    fn base(&self) -> PathBuf {
        // Links in the path of the temporary folder would make paths in messages differ.
        self.root.path().canonicalize().unwrap_or_else(|_| self.root.path().to_owned())
    }

    /// Writes a file of the project.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        write(&self.project().join(path), text.as_ref());
    }

    /// Writes a file of the home.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write_home(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        write(&self.home().join(path), text.as_ref());
    }

    /// Runs `dispatch` in the project.
    ///
    /// # Panics
    /// When the executable is not there.
    #[must_use]
    pub fn dispatch(&self, arguments: &[&str]) -> Output {
        self.run("dispatch", arguments, b"", &[])
    }

    /// Runs an executable of the workspace in the project, with input and further variables.
    ///
    /// # Panics
    /// When the executable is not there.
    #[must_use]
    pub fn run(&self, program: &str, arguments: &[&str], input: &[u8], variables: &[(&str, &str)]) -> Output {
        let mut child = self
            .command(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the executable starts");
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input does not fail the test.
            let _ = stdin.write_all(input);
        }
        let output = child.wait_with_output().expect("the executable ends");
        Output::new(output, &self.base())
    }

    /// A command for an executable of the workspace, in the project and with a clean environment.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        self.command_at(executable(program))
    }

    /// A line of a shell, run in the project and with a clean environment.
    #[must_use]
    pub fn shell(&self, line: &str) -> Command {
        let mut command = self.command_at(PathBuf::from("/bin/sh"));
        command.args(["-c", line]);
        command
    }

    fn command_at(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().env("DISPATCH_HOME", self.home()).env("HOME", self.home());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }
}

fn write(path: &Path, text: &[u8]) {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).expect("the file's folder");
    }
    std::fs::write(path, text).expect("the file");
}

/// The executable beside the test's own: `target/PROFILE/deps/it-HASH` -> `target/PROFILE/NAME`.
fn executable(program: &str) -> PathBuf {
    let own = std::env::current_exe().expect("the path of this test");
    let folder = own.ancestors().nth(2).expect("the profile's folder");
    let path = folder.join(format!("{program}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "{} is not built; run `cargo build --workspace` first", path.display());
    path
}
