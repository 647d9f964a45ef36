//! A scratch folder with a home and a git repository, in which an agent runs apart from the user's files.

use crate::agent_run::{AgentEnd, AgentRun};
use crate::error::LiveError;
use crate::host::{HostDriver, HostMode, RunPlace};
use crate::model::ScriptedModel;
use crate::step::ModelStep;
use dispatch_os::process::{ChildEnd, ChildSpec, DescendantPolicy};
use dispatch_os::{environment, files, ids};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Requests over TLS meet a closed port, so that an agent that calls home fails at once.
const NOWHERE: &str = "http://127.0.0.1:9";
const LOOPBACK: &str = "127.0.0.1,localhost";
const PROMPT: &str = "please go on";
const PREPARATION_TIMEOUT: Duration = Duration::from_secs(120);
/// The most files of the project that are looked at.
const FILE_LIMIT: usize = 20_000;

/// Rules of the user, under which `touch asked.txt` is a question.
pub const PREPARED_RULES: &str = r#"{"rules": [{"when": {"command": "touch asked.txt"}, "then": "ask",
  "because": "The live check asks about this command."}]}
"#;

/// The folder of one check. Dropping it removes it.
#[derive(Debug)]
pub struct ScratchProject {
    root: PathBuf,
    search_path: Vec<PathBuf>,
}

impl ScratchProject {
    /// Makes a home with [`PREPARED_RULES`] and a repository with one commit. Programs are found in `search_path`.
    ///
    /// # Errors
    /// When a file cannot be written or git fails.
    pub fn create(search_path: Vec<PathBuf>) -> Result<Self, LiveError> {
        let parent = environment::temporary_folder();
        let parent = files::canonicalize(&parent).unwrap_or(parent);
        let project = Self { root: parent.join(format!("dispatch-live-{}", ids::hex_id(12))), search_path };
        for folder in [project.home(), project.workspace().join("src"), project.temporary()] {
            files::create_dir_all(&folder).map_err(|source| LiveError::File { path: folder, source })?;
        }
        project.write(&project.home().join(".config/dispatch/hooks/config.json"), PREPARED_RULES)?;
        project.write(&project.workspace().join("README.md"), "# shop\n")?;
        project.write(&project.workspace().join("src/cart.py"), "total = 0\n")?;
        project.prepare(Path::new("git"), &["init", "-q", "-b", "main"])?;
        project.commit("start")?;
        Ok(project)
    }

    /// The same home and project for another check, with programs from elsewhere.
    pub fn set_search_path(&mut self, search_path: Vec<PathBuf>) {
        self.search_path = search_path;
    }

    /// The home of the agent.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The repository.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.root.join("shop")
    }

    fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Commits everything in the project.
    ///
    /// # Errors
    /// When git fails.
    pub fn commit(&self, message: &str) -> Result<(), LiveError> {
        self.prepare(Path::new("git"), &["add", "-A"])?;
        let identity = ["-c", "user.email=dev@example.com", "-c", "user.name=dev"];
        let words = ["commit", "-q", "--no-verify", "--allow-empty", "-m", message];
        self.prepare(Path::new("git"), &[&identity[..], &words[..]].concat()).map(drop)
    }

    /// Runs a program in the project that has to succeed, and returns its output.
    ///
    /// # Errors
    /// When it fails.
    pub fn prepare(&self, program: &Path, arguments: &[&str]) -> Result<String, LiveError> {
        let outcome = self.child(program).args(arguments.iter().copied()).timeout(PREPARATION_TIMEOUT).run();
        if outcome.succeeded() {
            return Ok(outcome.stdout.text());
        }
        let command = format!("{} {}", program.display(), arguments.join(" "));
        let said = format!("{}; {}{}", outcome.end, outcome.stdout.text(), outcome.stderr.text());
        Err(LiveError::Preparation { command, said })
    }

    /// The version that an agent's program tells, if it tells one.
    #[must_use]
    pub fn version_of(&self, program: &Path) -> Option<String> {
        let outcome = self.child(program).arg("--version").timeout(PREPARATION_TIMEOUT).run();
        version_in(&outcome.stdout.text()).or_else(|| version_in(&outcome.stderr.text()))
    }

    /// Runs an agent in the project, with a model that asks for these steps.
    ///
    /// # Errors
    /// When the model cannot be started or the agent's configuration cannot be written.
    pub fn drive(
        &self,
        host: &dyn HostDriver,
        program: &Path,
        mode: HostMode,
        version: &str,
        steps: &dyn Fn(&RunPlace) -> Vec<ModelStep>,
        timeout: Duration,
    ) -> Result<AgentRun, LiveError> {
        let mut place = RunPlace {
            home: self.home(),
            workspace: self.workspace(),
            model_url: String::new(),
            version: version.to_owned(),
        };
        let model = ScriptedModel::start(steps(&place))?;
        place.model_url = model.url();
        for (path, text) in host.configuration(&place) {
            self.write(&path, &text)?;
        }
        let mut child = self.child(program).args(host.arguments(PROMPT)).args(mode.arguments.iter().copied());
        for (name, value) in host.variables(&place) {
            child = child.variable(name, value);
        }
        for (name, value) in mode.variables {
            child = child.variable(*name, *value);
        }
        let outcome = child.descendants(DescendantPolicy::Guarded).timeout(timeout).run();
        Ok(AgentRun {
            end: match outcome.end {
                ChildEnd::Exited { code } => AgentEnd::Exited(code),
                ChildEnd::TimedOut => AgentEnd::TimedOut,
                end => AgentEnd::Failed(end.to_string()),
            },
            duration: outcome.duration,
            requests: model.requests(),
            stdout: outcome.stdout.text(),
            stderr: outcome.stderr.text(),
        })
    }

    /// The content of a file of the project; `None` if there is none.
    #[must_use]
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        files::read(self.workspace().join(path)).ok()
    }

    /// Every file of the project with its content, without the insides of `.git`.
    #[must_use]
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        let (top, mut found) = (self.workspace(), BTreeMap::new());
        let mut folders = vec![top.clone()];
        while let Some(folder) = folders.pop() {
            for entry in files::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path == top.join(".git") || found.len() >= FILE_LIMIT {
                    continue;
                }
                if files::is_dir(&path) && !files::is_symlink(&path) {
                    folders.push(path);
                } else if let Ok(relative) = path.strip_prefix(&top) {
                    let content = files::read(&path).unwrap_or_default();
                    found.insert(relative.display().to_string(), content);
                }
            }
        }
        found
    }

    /// Writes a file and the folders above it.
    ///
    /// # Errors
    /// When that fails.
    pub fn write(&self, path: &Path, text: &str) -> Result<(), LiveError> {
        let failed = |source| LiveError::File { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            files::create_dir_all(folder).map_err(failed)?;
        }
        files::write(path, text).map_err(failed)
    }

    /// What every program of the project finds in its environment.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let fixed = [
            ("USER", "dev"),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm-256color"),
            ("NO_COLOR", "1"),
            ("HTTPS_PROXY", NOWHERE),
            ("https_proxy", NOWHERE),
            ("NO_PROXY", LOOPBACK),
            ("no_proxy", LOOPBACK),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ];
        let own = [
            ("HOME", self.home().into_os_string()),
            ("USERPROFILE", self.home().into_os_string()),
            ("TMPDIR", self.temporary().into_os_string()),
            ("PATH", environment::join_paths(&self.search_path)),
        ];
        fixed.into_iter().map(|(name, value)| (name, value.into())).chain(own).collect()
    }

    fn child(&self, program: &Path) -> ChildSpec {
        let variables = self.environment().into_iter();
        let child = variables.fold(ChildSpec::new(program), |child, (name, value)| child.variable(name, value));
        child.working_folder(self.workspace())
    }
}

impl Drop for ScratchProject {
    fn drop(&mut self) {
        // A process that is just ending may still write; what it leaves is below the system's temporary folder.
        let _ = files::remove_dir_all(&self.root);
    }
}

/// The first word that starts like a version.
fn version_in(text: &str) -> Option<String> {
    let trimmed = text.split_whitespace().map(|word| word.trim_start_matches('v').trim_end_matches(['.', ',']));
    let mut versions =
        trimmed.filter(|word| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.'));
    versions.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_a_program_says() {
        for (text, expected) in [
            ("2.1.325 (Claude Code)", Some("2.1.325")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("v1.0.102.", Some("1.0.102")),
            ("no version", None),
        ] {
            assert_eq!(version_in(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_scratch_project_is_a_repository_apart_and_goes_with_its_check() {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let project = ScratchProject::create(environment::split_paths(&path).collect()).unwrap();
        assert!(project.contents().contains_key("src/cart.py"));
        let home = project.prepare(Path::new("sh"), &["-c", "echo $HOME; git status --short"]).unwrap();
        assert_eq!(home.trim(), project.home().display().to_string());
        let failure = project.prepare(Path::new("sh"), &["-c", "echo why >&2; exit 3"]).unwrap_err();
        assert!(failure.to_string().contains("why"), "{failure}");
        let root = project.root.clone();
        drop(project);
        assert!(!root.exists());
    }
}
