//! A temporary home and a temporary project, and the executables run in them.

use crate::output::Output;
use sha2::Digest as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The files that can weaken rules, which count once they are approved.
const RULE_FILES: [&str; 2] = [".ai/hooks/dispatch.manifest.json", ".ai/hooks/config.json"];

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

    /// Writes a file of the project. Rule files count as the user's own, who approved them.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let file = self.project().join(path);
        write(&file, text.as_ref());
        if RULE_FILES.iter().any(|name| file.ends_with(name)) {
            self.approve(&file, text.as_ref());
        }
    }

    /// Writes a file of the project as a clone brings it: nobody approved it.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn write_cloned(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        write(&self.project().join(path), text.as_ref());
    }

    /// Approves the content of a file, as `dispatch trust` does.
    fn approve(&self, file: &Path, content: &[u8]) {
        let trust = self.home().join("trust.json");
        let text = std::fs::read_to_string(&trust).unwrap_or_else(|_| "{\"approved\": {}}".to_owned());
        let mut approvals: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let hash = sha2::Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        approvals["approved"][file.to_string_lossy().as_ref()] = hash.into();
        write(&trust, approvals.to_string().as_bytes());
    }

    /// Lets commands change policy without a person, as a user's script does.
    ///
    /// # Panics
    /// When the user's settings cannot be written.
    pub fn allow_policy_changes(&self) {
        let file = self.home().join("config/dispatch.toml");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        if !text.contains("[policy]") {
            write(&file, format!("{text}\n[policy]\nconfirm = \"none\"\n").as_bytes());
        }
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
        if changes_policy(arguments) {
            self.allow_policy_changes();
        }
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

    /// Runs a line of a shell in the project, with our programs on its path and nothing on its input.
    ///
    /// # Panics
    /// When there is no shell.
    #[must_use]
    pub fn run_shell(&self, line: &str) -> Output {
        let output = self.shell(line).stdin(Stdio::null()).output().expect("a shell");
        Output::new(output, &self.base())
    }

    fn command_at(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().env("DISPATCH_HOME", self.home()).env("HOME", self.home());
        // Registrations of a project name our programs, which are beside this test's own.
        let own = executable("dispatch").parent().map(Path::to_path_buf);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = own.into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).expect("folders without separators"));
        command
    }
}

/// Whether `dispatch` asks at a terminal before it obeys.
fn changes_policy(arguments: &[&str]) -> bool {
    let words: Vec<&str> = arguments.iter().copied().filter(|word| !word.starts_with("--project")).collect();
    match words.as_slice() {
        ["trust" | "allow-once", ..]
        | ["phase", "set", ..]
        | ["ext", "enable" | "disable" | "remove" | "install", ..] => true,
        ["init", ..] => words.contains(&"--undo") || words.contains(&"--intents-mode"),
        _ => words.iter().any(|word| matches!(*word, "trust" | "allow-once")),
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
