//! The files of a session on disk: everything the pipeline writes goes through here, and nothing leaves `.ai/tmp`.

mod append;
mod batch;
mod brief_lock;
mod header;
mod log_summary;
mod module_files;
mod search;
mod sequence;
mod session_folder;
mod state_file;
mod tail;
mod view;

use std::io;
use std::path::{Path, PathBuf};

use dispatch_os::OsError;

pub(crate) use batch::{Batch, Journal};
pub(crate) use brief_lock::HeldLock;
pub(crate) use log_summary::LogSummary;
pub(crate) use sequence::next_run_ms;
pub(crate) use session_folder::SessionFolder;
pub use state_file::read_state;
pub(crate) use state_file::{STATE_LOCK, rebuild_state};
pub(crate) use tail::TAIL_BYTES;
pub(crate) use view::DiskView;

/// Why something was not written. Never a reason to withhold an answer.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A link stands where a folder or file of ours should be.
    #[error("{} is a link, so nothing is written through it", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The path would leave the folder it belongs in.
    #[error("`{path}` leads out of its folder")]
    Outside {
        /// As the module gave it.
        path: String,
    },
    /// The content is larger than one file of a module may be.
    #[error("`{path}` would have {bytes} bytes")]
    TooLarge {
        /// As the module gave it.
        path: String,
        /// Its size.
        bytes: usize,
    },
    /// Only part of a write reached the disk.
    #[error("only {written} of {wanted} bytes reached {}", path.display())]
    ShortWrite {
        /// The file.
        path: PathBuf,
        /// Bytes stored.
        written: usize,
        /// Bytes to store.
        wanted: usize,
    },
    /// The path is a folder, a pipe or a device.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system refused, as told by the layer below.
    #[error(transparent)]
    Os(#[from] OsError),
}

impl FilesError {
    fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }

    fn is_not_found(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            Self::Os(error) => error.is_not_found(),
            _ => false,
        }
    }
}
