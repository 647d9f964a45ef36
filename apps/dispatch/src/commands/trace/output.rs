//! Where a long result goes: standard output, or a file that appears when it is whole.

use crate::failure::Failure;
use dispatch_os::{OsError, files, ids};
use std::fs::File;
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
        let name = path.file_name().ok_or_else(|| Failure::usage(format!("{} is no file", path.display())))?;
        let temporary = path.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), ids::hex_id(8)));
        let file = files::create_new(&temporary, dispatch_os::Access::Usual)?;
        Ok(Self::File { writer: BufWriter::new(file), temporary, path: path.to_owned() })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match self {
            Self::Stdout(writer) => writer.write_all(bytes),
            Self::File { writer, .. } => writer.write_all(bytes),
        };
        self.check(written)
    }

    /// Ends the writing; gives the path of the file, if it is one.
    pub(super) fn finish(mut self) -> Result<Option<PathBuf>, Failure> {
        let flushed = match &mut self {
            Self::Stdout(writer) => writer.flush(),
            Self::File { writer, .. } => writer.flush(),
        };
        self.check(flushed)?;
        let Self::File { temporary, path, .. } = &self else {
            return Ok(None);
        };
        std::fs::rename(temporary, path).map_err(|source| io("write", path, source))?;
        Ok(Some(path.clone()))
    }

    fn check(&self, result: std::io::Result<()>) -> Result<(), Failure> {
        match (result, self) {
            // A reader that has gone away is no error.
            (Err(error), Self::Stdout(_)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            (Err(error), Self::Stdout(_)) => Err(io("write", Path::new("standard output"), error)),
            (Err(error), Self::File { path, .. }) => Err(io("write", path, error)),
            (Ok(()), _) => Ok(()),
        }
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Self::File { temporary, .. } = self {
            // After the rename there is nothing left to remove.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> Failure {
    OsError::Io { action, path: path.to_path_buf(), source }.into()
}
