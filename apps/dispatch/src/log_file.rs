//! Reads logs of any size line by line, forwards as they grow or backwards from their end, within fixed memory.

use dispatch_os::files::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Bytes read at once.
const BLOCK_BYTES: usize = 64 * 1024;
/// A longer line is not a record and is skipped.
const LINE_LIMIT_BYTES: usize = 1024 * 1024;
/// The start of a log, by which a new one of the same name is recognised: it holds the first record's id.
const HEAD_BYTES: usize = 64;

/// One complete line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogLine {
    /// Without its line feed.
    Whole(Vec<u8>),
    /// It was too long to be read.
    TooLong,
}

/// A place in a log that moves forward.
#[derive(Debug)]
pub(crate) struct LogCursor {
    path: PathBuf,
    block_bytes: usize,
    /// Where in the file `buffer` ends.
    offset: u64,
    head: Vec<u8>,
    buffer: Vec<u8>,
    /// Bytes of `buffer` that were handed over.
    taken: usize,
    /// Within a line that is too long.
    skipping: bool,
}

impl LogCursor {
    /// Before the first line.
    pub(crate) fn at_start(path: PathBuf) -> Self {
        Self::after(path, 0)
    }

    /// After this many bytes, which must be the end of a line.
    pub(crate) fn after(path: PathBuf, offset: u64) -> Self {
        let (head, buffer) = (Vec::new(), Vec::new());
        Self { path, block_bytes: BLOCK_BYTES, offset, head, buffer, taken: 0, skipping: false }
    }

    /// The next complete line; nothing if there is none yet. A log that was replaced or cut is read from its start.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<LogLine>> {
        loop {
            while let Some(line) = self.buffered_line() {
                match line {
                    LogLine::Whole(bytes) if bytes.is_empty() => {}
                    line => return Ok(Some(line)),
                }
            }
            if self.buffer.len() - self.taken > LINE_LIMIT_BYTES {
                self.skipping = true;
                self.buffer.clear();
                self.taken = 0;
            }
            if !self.read_block()? {
                return Ok(None);
            }
        }
    }

    fn buffered_line(&mut self) -> Option<LogLine> {
        let rest = self.buffer.get(self.taken..)?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let bytes = rest.get(..end)?.to_vec();
        self.taken += end + 1;
        let skipped = std::mem::take(&mut self.skipping);
        Some(if skipped || bytes.len() > LINE_LIMIT_BYTES { LogLine::TooLong } else { LogLine::Whole(bytes) })
    }

    /// Reads on; `false` if there is nothing new.
    fn read_block(&mut self) -> io::Result<bool> {
        let Some((mut file, length)) = open(&self.path)? else { return Ok(false) };
        if length == self.offset {
            return Ok(false);
        }
        let head = read_at(&mut file, 0, HEAD_BYTES)?;
        if length < self.offset || !head.starts_with(&self.head) {
            self.offset = 0;
            self.buffer.clear();
            self.taken = 0;
            self.skipping = false;
        }
        self.head = head;
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let block = read_at(&mut file, self.offset, self.block_bytes)?;
        self.offset += block.len() as u64;
        self.buffer.extend_from_slice(&block);
        Ok(!block.is_empty())
    }
}

/// Hands over the complete lines of a log, newest first, until told to stop. Returns where the complete lines end.
pub(crate) fn newest_first(path: &Path, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<u64> {
    newest_first_by(path, BLOCK_BYTES, each)
}

fn newest_first_by(path: &Path, block_bytes: usize, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> io::Result<u64> {
    let Some((mut file, length)) = open(path)? else { return Ok(0) };
    let mut end = None;
    let mut position = length;
    // The end of a line whose beginning was not read yet; nothing while bytes belong to no complete line.
    let mut tail: Option<Vec<u8>> = None;
    while position > 0 {
        let start = position.saturating_sub(block_bytes as u64);
        let mut block = read_at(&mut file, start, usize::try_from(position - start).unwrap_or(block_bytes))?;
        match tail.take() {
            Some(rest) => block.extend_from_slice(&rest),
            None => {
                let complete = block.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                block.truncate(complete);
                if complete > 0 {
                    end.get_or_insert(start + complete as u64);
                }
            }
        }
        position = start;
        // What stands before the first line feed goes on in the block before, unless there is none.
        let whole = match position {
            0 => 0,
            _ => block.iter().position(|byte| *byte == b'\n').map_or(block.len(), |at| at + 1),
        };
        let lines = block.get(whole..).unwrap_or_default();
        for line in lines.rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if each(line).is_break() {
                return Ok(end.unwrap_or(0));
            }
        }
        block.truncate(whole);
        tail = (!block.is_empty() && block.len() <= LINE_LIMIT_BYTES).then_some(block);
    }
    Ok(end.unwrap_or(0))
}

/// The file and its length; nothing if there is none. A pipe or a device in its place is not opened.
fn open(path: &Path) -> io::Result<Option<(File, u64)>> {
    let found = match files::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !found.is_file() {
        return Ok(None);
    }
    match files::open(path) {
        Ok(file) => {
            let length = file.metadata()?.len();
            Ok(Some((file, length)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_at(file: &mut File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(limit);
    file.seek(SeekFrom::Start(offset))?;
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
