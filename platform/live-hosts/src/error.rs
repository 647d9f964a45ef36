//! Why a run of an agent could not be set up.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a run of an agent could not be set up.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The scripted model has no port.
    #[error("cannot start the scripted model on the loopback address")]
    Model(#[source] io::Error),
    /// A file of the scratch folder could not be made.
    #[error("cannot write {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program that prepares the scratch project failed.
    #[error("`{command}` failed in the scratch project: {said}")]
    Preparation {
        /// What was run.
        command: String,
        /// What it said.
        said: String,
    },
}
