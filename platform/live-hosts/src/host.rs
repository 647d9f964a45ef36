//! What differs between agents: package, configuration, command line, tool names.
//!
//! Pure.

use crate::step::ModelStep;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The model that agents are told to use, where they take any name.
pub(crate) const MODEL: &str = "scripted";

/// Where one run happens and which model it talks to.
#[derive(Debug, Clone)]
pub struct RunPlace {
    /// The home of the run.
    pub home: PathBuf,
    /// The project.
    pub workspace: PathBuf,
    /// The address of the scripted model, without a path.
    pub model_url: String,
    /// The agent's version.
    pub version: String,
}

impl RunPlace {
    /// An absolute path as text.
    #[must_use]
    pub fn in_workspace(&self, path: &str) -> String {
        self.workspace.join(path).display().to_string()
    }

    pub(crate) fn home_file(&self, path: &str, content: &Value) -> (PathBuf, String) {
        (self.home.join(path), format!("{content:#}\n"))
    }
}

/// How much an agent does without asking anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostMode {
    /// As the host calls it.
    pub name: &'static str,
    /// What is added to its command line.
    pub arguments: &'static [&'static str],
    /// What is added to its environment.
    pub variables: &'static [(&'static str, &'static str)],
}

pub(crate) const fn mode(name: &'static str, arguments: &'static [&'static str]) -> HostMode {
    HostMode { name, arguments, variables: &[] }
}

/// The package that an agent comes in, at the version that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NpmPackage {
    /// Its name.
    pub name: &'static str,
    /// The version that was tried.
    pub version: &'static str,
    /// The program, below `node_modules`.
    pub program: &'static str,
}

/// One agent.
pub trait HostDriver: Sync {
    /// The dialect that it is.
    fn id(&self) -> &'static str;

    /// Its program on `PATH`.
    fn program(&self) -> &'static str;

    /// Where it comes from.
    fn package(&self) -> NpmPackage;

    /// Its modes without a terminal: the first is what it does when nothing is said, the last approves everything.
    fn modes(&self) -> &'static [HostMode];

    /// The files that make it talk to the scripted model and trust the project.
    fn configuration(&self, place: &RunPlace) -> Vec<(PathBuf, String)>;

    /// The variables that do.
    fn variables(&self, place: &RunPlace) -> Vec<(&'static str, String)>;

    /// The words before those of the mode.
    fn arguments(&self, prompt: &str) -> Vec<String>;

    /// Runs a command.
    fn shell(&self, command: &str) -> ModelStep;

    /// Writes a new file.
    fn write(&self, place: &RunPlace, path: &str, text: &str) -> ModelStep;

    /// A file of the project with which hooks are switched off, and what it then says.
    fn off_switch(&self) -> (&'static str, &'static str);

    /// The mode that approves everything.
    fn most_permissive(&self) -> HostMode {
        self.modes().last().copied().unwrap_or(mode("default", &[]))
    }

    /// Whether it tells its hooks about a command that failed.
    fn reports_failures(&self) -> bool {
        true
    }

    /// What the agent itself leaves in a project.
    fn own_files(&self) -> &'static [&'static str] {
        &[]
    }
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// A path that exists in the project, seen from it.
pub(crate) fn relative<'a>(place: &RunPlace, path: &'a str) -> &'a str {
    Path::new(path).strip_prefix(&place.workspace).ok().and_then(Path::to_str).unwrap_or(path)
}
