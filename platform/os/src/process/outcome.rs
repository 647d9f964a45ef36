//! How a child ended, in terms a caller can decide on and a user can act on.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Captured;
use super::spec::ChildSpec;

/// Everything known about a child after it is gone.
#[derive(Debug)]
pub struct ChildOutcome {
    /// How it ended.
    pub end: ChildEnd,
    /// From the call to the return.
    pub duration: Duration,
    /// What was kept of its standard output.
    pub stdout: Captured,
    /// What was kept of its standard error.
    pub stderr: Captured,
    /// The files that it and its descendants set about to write, sorted; `None` if they were not observed.
    /// See [`ChildSpec::observe_writes`].
    pub wrote: Option<Vec<PathBuf>>,
    /// Whether they may have written more than that.
    pub wrote_more: bool,
}

impl ChildOutcome {
    /// Whether the child ended by itself with code 0.
    pub fn succeeded(&self) -> bool {
        matches!(self.end, ChildEnd::Exited { code: 0 })
    }

    /// The exit code, if the child ended by itself.
    pub fn exit_code(&self) -> Option<i32> {
        match self.end {
            ChildEnd::Exited { code } => Some(code),
            _ => None,
        }
    }

    pub(super) fn not_started(failure: StartFailure, duration: Duration) -> Self {
        Self {
            end: ChildEnd::FailedToStart(failure),
            duration,
            stdout: Captured::default(),
            stderr: Captured::default(),
            wrote: None,
            wrote_more: false,
        }
    }
}

/// How a child ended.
#[derive(Debug)]
pub enum ChildEnd {
    /// By itself, with this code.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// By a signal that this call did not send.
    Signalled {
        /// The signal number.
        signal: i32,
    },
    /// Killed with its tree, because its time was up.
    TimedOut,
    /// Killed with its tree, because the caller cancelled.
    Cancelled,
    /// It never ran.
    FailedToStart(StartFailure),
    /// It ended, but the system would not say how.
    StatusUnknown,
}

impl fmt::Display for ChildEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(formatter, "exit code {code}"),
            Self::Signalled { signal } => write!(formatter, "killed by signal {signal}"),
            Self::TimedOut => formatter.write_str("timed out"),
            Self::Cancelled => formatter.write_str("cancelled"),
            Self::FailedToStart(failure) => failure.fmt(formatter),
            Self::StatusUnknown => formatter.write_str("ended in an unknown way"),
        }
    }
}

/// Why a child did not start. Arguments and variables are never part of the text.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {program}: {cause}")]
pub struct StartFailure {
    /// The program as it was named.
    pub program: String,
    /// The cause.
    #[source]
    pub cause: StartCause,
}

impl StartFailure {
    /// What the user can do about it, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        match &self.cause {
            StartCause::NotFound => Some("install the program, or give its full path"),
            StartCause::InterpreterNotFound => Some("look at the first line of the script, or at the program's loader"),
            StartCause::NotExecutable => Some("make the file executable: chmod +x"),
            StartCause::BadWorkingFolder { .. } => Some("check that the folder exists"),
            StartCause::ArgumentsTooLong => Some("pass the input through stdin or a file"),
            StartCause::OutOfResources(_) => Some("close other programs or raise the limits"),
            StartCause::BadRecordFolder(_) | StartCause::BadExitMarker(_) | StartCause::Other(_) => None,
        }
    }
}

/// The cause of a failed start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartCause {
    /// No such program, in the path given or on the child's `PATH`.
    #[error("no such program")]
    NotFound,
    /// The program exists, but the interpreter it names does not.
    #[error("its interpreter does not exist")]
    InterpreterNotFound,
    /// The file may not be executed, or its format is not executable.
    #[error("not executable")]
    NotExecutable,
    /// The working folder is missing, is not a folder, or may not be entered.
    #[error("the working folder {} cannot be used", folder.display())]
    BadWorkingFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// Arguments and environment are larger than the system allows.
    #[error("arguments and environment are too long")]
    ArgumentsTooLong,
    /// The system has no process, thread, descriptor or memory left.
    #[error("out of system resources: {0}")]
    OutOfResources(#[source] io::Error),
    /// The record of the process group could not be written.
    #[error("cannot record the process group: {0}")]
    BadRecordFolder(#[source] Box<crate::OsError>),
    /// The exit marker could not be created.
    #[error("cannot prepare to record the exit: {0}")]
    BadExitMarker(#[source] Box<crate::OsError>),
    /// Anything else.
    #[error("{0}")]
    Other(#[source] io::Error),
}

pub(super) fn start_failure(spec: &ChildSpec, error: io::Error) -> StartFailure {
    StartFailure { program: spec.program.to_string_lossy().into_owned(), cause: cause_of(spec, error) }
}

fn cause_of(spec: &ChildSpec, error: io::Error) -> StartCause {
    if let Some(folder) = spec.working_folder.as_deref()
        && !usable_folder(folder)
    {
        return StartCause::BadWorkingFolder { folder: folder.to_path_buf() };
    }
    match error.kind() {
        io::ErrorKind::NotFound if program_exists(spec) => StartCause::InterpreterNotFound,
        io::ErrorKind::NotFound => StartCause::NotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
            StartCause::NotExecutable
        }
        io::ErrorKind::ArgumentListTooLong => StartCause::ArgumentsTooLong,
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => StartCause::OutOfResources(error),
        _ if is_format_error(&error) => StartCause::NotExecutable,
        _ => StartCause::Other(error),
    }
}

/// Entering the folder is what the child would do, so links, permissions and types are all covered.
fn usable_folder(folder: &Path) -> bool {
    folder.is_dir() && folder.join(".").symlink_metadata().is_ok()
}

fn program_exists(spec: &ChildSpec) -> bool {
    let program = Path::new(&spec.program);
    if program.components().count() < 2 {
        return false;
    }
    match spec.working_folder.as_deref() {
        Some(folder) => folder.join(program).is_file(),
        None => program.is_file(),
    }
}

#[cfg(unix)]
fn is_format_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOEXEC)
}

#[cfg(not(unix))]
fn is_format_error(error: &io::Error) -> bool {
    const ERROR_BAD_EXE_FORMAT: i32 = 193;
    error.raw_os_error() == Some(ERROR_BAD_EXE_FORMAT)
}
