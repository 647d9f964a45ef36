//! One error type for every operating-system effect, each variant named by its cause.

use std::io;
use std::path::{Path, PathBuf};

/// Why an operating-system effect failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OsError {
    /// A system call on a path failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: "read", "lock", "create folder".
        action: &'static str,
        /// The path it was tried on.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The content is larger than the caller is willing to hold.
    #[error("{} holds {size} bytes, the limit is {limit}", path.display())]
    TooLarge {
        /// The file or the name of the stream.
        path: PathBuf,
        /// Bytes found; a lower bound when the true size is unknown.
        size: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The content is not UTF-8 where text was asked for.
    #[error("{} is not valid UTF-8 (first bad byte at offset {valid_up_to})", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Bytes that were still valid.
        valid_up_to: usize,
    },
    /// A line to append holds a line feed, which would make it two lines.
    #[error("a line for {} contains a line feed", path.display())]
    LineFeedInLine {
        /// The file that was left untouched.
        path: PathBuf,
    },
    /// The system accepted only the first part of a line; the file now has a torn tail.
    #[error("only {written} of {wanted} bytes reached {}", path.display())]
    ShortWrite {
        /// The file with the torn tail.
        path: PathBuf,
        /// Bytes that were stored.
        written: usize,
        /// Bytes that should have been stored.
        wanted: usize,
    },
    /// The path is a symbolic link and the caller did not ask to follow it.
    #[error("{} is a symbolic link", path.display())]
    SymlinkRefused {
        /// The link.
        path: PathBuf,
    },
    /// The path names a folder, a pipe or a device where a regular file is needed.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file with secrets belongs to another user, or others may open it.
    #[error("{} can be opened by others (mode {mode:o})", path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Following the symbolic links of a path did not end.
    #[error("{} goes through too many symbolic links", path.display())]
    TooManySymlinks {
        /// The path as given.
        path: PathBuf,
    },
    /// The path leads out of the folder that work is confined to.
    #[error("{} is outside of {}", path.display(), root.display())]
    Outside {
        /// The path as given.
        path: PathBuf,
        /// The folder.
        root: PathBuf,
    },
    /// The path leads into a folder that is closed to this work.
    #[error("{} belongs to Dispatch itself and is closed to tools", path.display())]
    Closed {
        /// The path as given.
        path: PathBuf,
    },
    /// A symbolic link appeared on the path while it was used.
    #[error("a symbolic link appeared on the way to {}", path.display())]
    LinkAppeared {
        /// Where the path led before.
        path: PathBuf,
    },
    /// Another process held the lock for the whole wait.
    #[error("{} is locked by another process (waited {waited_ms} ms)", path.display())]
    LockBusy {
        /// The lock file.
        path: PathBuf,
        /// How long was waited.
        waited_ms: u64,
    },
    /// No folder for user data can be derived from the environment.
    #[error("the home folder is unknown: {variable} is not set")]
    HomeUnknown {
        /// The variable that would have told.
        variable: &'static str,
    },
    /// A variable that must hold an absolute path holds a relative one.
    #[error("{variable} must be an absolute path")]
    NotAbsolute {
        /// The variable.
        variable: &'static str,
    },
    /// An environment variable holds bytes that are not text.
    #[error("the environment variable {name} is not valid UTF-8")]
    VariableNotUtf8 {
        /// The variable; its value is never shown.
        name: String,
    },
    /// The process-wide alarm is already armed.
    #[error("the alarm of this process is already armed")]
    AlarmArmed,
    /// The system refused to set up the alarm.
    #[error("cannot arm the alarm: {source}")]
    AlarmRefused {
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl OsError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }

    /// The kind of the underlying system error, where there is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } | Self::AlarmRefused { source } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether the path simply does not exist.
    pub fn is_not_found(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::NotFound)
    }

    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } => io_hint(source.kind()),
            Self::TooLarge { .. } => Some("shorten or rotate the file, or raise the limit"),
            Self::NotUtf8 { .. } => Some("save the file as UTF-8"),
            Self::ShortWrite { .. } => Some("check the free disk space and the quota"),
            Self::SymlinkRefused { .. } => Some("name the link's target instead of the link"),
            Self::NotAFile { .. } => Some("name a regular file"),
            Self::OpenToOthers { .. } => {
                Some("make it yours alone with `chmod 600`; if others may have read it, renew what is in it")
            }
            Self::TooManySymlinks { .. } => Some("look for a symbolic link that points to itself"),
            Self::Outside { .. } => Some("name a path inside that folder"),
            Self::Closed { .. } => Some("leave it out; nothing in it is meant for tools"),
            Self::LinkAppeared { .. } => Some("try again when no other process changes the folders"),
            Self::LockBusy { .. } => Some("wait for the other process to finish, or stop it"),
            Self::HomeUnknown { .. } => Some("set HOME, or set DISPATCH_HOME to a folder"),
            Self::NotAbsolute { .. } => Some("give the full path, starting at the root"),
            Self::VariableNotUtf8 { .. } => Some("set the variable to plain text, or unset it"),
            Self::LineFeedInLine { .. } | Self::AlarmArmed | Self::AlarmRefused { .. } => None,
        }
    }
}

fn io_hint(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::NotFound => Some("check that the path exists"),
        io::ErrorKind::PermissionDenied => Some("check who owns the path and its permissions"),
        io::ErrorKind::ReadOnlyFilesystem => Some("the disk is mounted read-only"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some("free some disk space"),
        io::ErrorKind::NotADirectory => Some("a part of the path is a file, not a folder"),
        io::ErrorKind::Unsupported => Some("the file system does not support this operation"),
        _ => None,
    }
}
