//! Appends whole lines that concurrent writers cannot tear: one line, one `write(2)`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::create::{apply_links, apply_mode, open_error};
use super::{Access, SymlinkPolicy};
use crate::OsError;

/// The longest line that can be appended, without its line feed.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Whether to look for a torn tail, which a writer killed midway or a full disk leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TailRepair {
    /// Read the last byte first; unless it is a line feed, start with one. Costs about a microsecond.
    #[default]
    Check,
    /// Trust the tail. For files whose every writer checks, or that hold nothing worth the read.
    Skip,
}

/// How to open a file for appending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AppendOptions {
    /// Whether to look for a torn tail.
    pub tail: TailRepair,
    /// Who may open the file if this creates it.
    pub access: Access,
    /// What to do if the path is a symbolic link.
    pub symlink: SymlinkPolicy,
}

impl From<TailRepair> for AppendOptions {
    fn from(tail: TailRepair) -> Self {
        Self { tail, ..Self::default() }
    }
}

/// Appends one line to a file, creating it if missing: opens, writes once, closes.
///
/// The line and its line feed reach the system in a single `write` with `O_APPEND`, so that on a
/// local file system the lines of any number of writers stay whole. Nothing is synced.
///
/// Two things a reader must bear. A writer killed within its `write`, or a full disk, can leave the
/// first part of a line; the repair keeps it a line of its own, which does not parse. And a repair
/// while another writer is in the middle of its line leaves an empty line, which
/// [`super::CompleteLines::iter`] skips.
pub fn append_line(path: &Path, line: &[u8], options: impl Into<AppendOptions>) -> Result<(), OsError> {
    LineAppender::open(path, options)?.append(line)
}

/// A file held open for appending lines.
#[derive(Debug)]
pub struct LineAppender {
    file: File,
    path: PathBuf,
    tail: TailRepair,
    /// The length found on opening, good for the first line only.
    opened_length: Option<u64>,
}

impl LineAppender {
    /// Opens the file, creating it if missing. Anything but a regular file is refused.
    pub fn open(path: &Path, options: impl Into<AppendOptions>) -> Result<Self, OsError> {
        let options = options.into();
        let file = open_options(options)
            .open(path)
            .map_err(|source| open_error("open for appending", path, options.symlink, source))?;
        let mut appender = Self { file, path: path.to_path_buf(), tail: options.tail, opened_length: None };
        appender.opened_length = Some(appender.length()?);
        Ok(appender)
    }

    /// Appends one line in one write.
    pub fn append(&mut self, line: &[u8]) -> Result<(), OsError> {
        self.refuse_bad_line(line)?;
        let mut record = Vec::with_capacity(line.len() + 2);
        if self.tail == TailRepair::Check && self.tail_is_torn()? {
            record.push(b'\n');
        }
        record.extend_from_slice(line);
        record.push(b'\n');
        self.write_once(&record)
    }

    fn refuse_bad_line(&self, line: &[u8]) -> Result<(), OsError> {
        if line.len() > MAX_LINE_BYTES {
            return Err(OsError::TooLarge {
                path: self.path.clone(),
                size: line.len() as u64,
                limit: MAX_LINE_BYTES as u64,
            });
        }
        if line.contains(&b'\n') {
            return Err(OsError::LineFeedInLine { path: self.path.clone() });
        }
        Ok(())
    }

    fn write_once(&mut self, record: &[u8]) -> Result<(), OsError> {
        loop {
            match self.file.write(record) {
                Ok(written) if written == record.len() => return Ok(()),
                Ok(written) => {
                    return Err(OsError::ShortWrite { path: self.path.clone(), written, wanted: record.len() });
                }
                // The system interrupts a write only before its first byte.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(OsError::io("append to", &self.path, source)),
            }
        }
    }

    fn tail_is_torn(&mut self) -> Result<bool, OsError> {
        let length = match self.opened_length.take() {
            Some(length) => length,
            None => self.length()?,
        };
        let Some(last) = length.checked_sub(1) else {
            return Ok(false);
        };
        let mut byte = [0];
        match read_at(&self.file, &mut byte, last) {
            // Nothing to read: the file was truncated in the meantime, so it has no torn tail.
            Ok(0) => Ok(false),
            Ok(_) => Ok(byte != *b"\n"),
            Err(source) => Err(OsError::io("read the tail of", &self.path, source)),
        }
    }

    fn length(&self) -> Result<u64, OsError> {
        let metadata = self.file.metadata().map_err(|source| OsError::io("inspect", &self.path, source))?;
        if metadata.is_file() { Ok(metadata.len()) } else { Err(OsError::NotAFile { path: self.path.clone() }) }
    }
}

fn open_options(options: AppendOptions) -> OpenOptions {
    let mut open = OpenOptions::new();
    open.append(true).create(true);
    open.read(options.tail == TailRepair::Check);
    apply_mode(&mut open, options.access);
    apply_links(&mut open, options.symlink);
    open
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
