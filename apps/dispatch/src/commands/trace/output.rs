//! The destination of a long result: standard output, or a file that appears when it is complete.

use crate::failure::Failure;
use dispatch_os::files::{self, File};
use dispatch_os::{OsError, ids};
use std::io::{BufWriter, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

/// A destination that is being written.
pub(super) enum Destination {
    Stdout(BufWriter<Stdout>),
    File { writer: BufWriter<File>, temporary: PathBuf, path: PathBuf },
}

impl Destination {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::Stdout(BufWriter::new(std::io::stdout())));
        };
        let name = path.file_name().ok_or_else(|| Failure::usage(format!("{} is not a file name", path.display())))?;
        let temporary = path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), ids::hex_id(8)));
        let file = files::create_new(&temporary, dispatch_os::Access::Usual)?;
        Ok(Self::File { writer: BufWriter::new(file), temporary, path: path.to_owned() })
    }

    /// Completes the output; returns the path of the file, if it is one.
    pub(super) fn finish(mut self) -> Result<Option<PathBuf>, Failure> {
        self.flush().map_err(|error| self.failure(error))?;
        let Self::File { temporary, path, .. } = &self else {
            return Ok(None);
        };
        files::rename(temporary, path).map_err(|source| io("write", path, source))?;
        Ok(Some(path.clone()))
    }

    /// The failure of a command whose output could not be written.
    pub(super) fn failure(&self, error: std::io::Error) -> Failure {
        match self {
            Self::Stdout(_) => io("write", Path::new("standard output"), error),
            Self::File { path, .. } => io("write", path, error),
        }
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Stdout(writer) => without_broken_pipe(writer.write(bytes), bytes.len()),
            Self::File { writer, .. } => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Stdout(writer) => without_broken_pipe(writer.flush(), ()),
            Self::File { writer, .. } => writer.flush(),
        }
    }
}

/// A reader of standard output that has gone away is not an error.
fn without_broken_pipe<T>(result: std::io::Result<T>, done: T) -> std::io::Result<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(done),
        other => other,
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Self::File { temporary, .. } = self {
            // After the rename this file does not exist.
            let _ = files::remove_file(temporary);
        }
    }
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> Failure {
    OsError::Io { action, path: path.to_path_buf(), source }.into()
}
