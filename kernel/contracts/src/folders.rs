//! Where the program may keep things; which folders these are is decided outside the kernel.

use std::path::PathBuf;

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
