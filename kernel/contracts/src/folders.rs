//! Where the program may keep things; which folders these are is decided outside the kernel.

use std::path::{Path, PathBuf};

/// The folders of this run. None of them has to exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folders {
    /// What the user writes.
    pub config: PathBuf,
    /// What must not be lost: databases, tokens, spilled outputs.
    pub data: PathBuf,
    /// What should survive a restart: logs, records of running processes.
    pub state: PathBuf,
    /// What can be made again.
    pub cache: PathBuf,
    /// The root of the project, if the run belongs to one.
    pub project: Option<PathBuf>,
    /// Where work happens that names no other folder.
    pub workdir: PathBuf,
}

impl Folders {
    /// Where outputs are kept that were too large to show; tools may read them.
    #[must_use]
    pub fn outputs(&self) -> PathBuf {
        self.data.join("outputs")
    }

    /// What no tool may reach, apart from [`Folders::outputs`]: tokens, keys, databases, records of the program.
    #[must_use]
    pub fn closed_to_tools(&self) -> [&Path; 2] {
        [&self.data, &self.state]
    }
}
