//! Reads that never hold more than the caller allows, and never half a line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use crate::OsError;

const TAIL_BLOCK_BYTES: u64 = 64 * 1024;

/// The whole content of a regular file, if it is at most `limit` bytes long.
pub fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, OsError> {
    read_file_at_most(open_unblocked(path)?, path, limit)
}

/// The same of a file that is open already; `path` is for the error.
pub fn read_file_at_most(file: File, path: &Path, limit: u64) -> Result<Vec<u8>, OsError> {
    let size = size_of_regular(&file, path)?;
    if size > limit {
        return Err(too_large(path, size, limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    if read_once(&file, &mut bytes, size) {
        return Ok(bytes);
    }
    read_rest(file, path, limit, bytes)
}

/// Whether one read gave the whole of a regular file. There was room for one byte more than its size, so a file that
/// grew meanwhile is told from one that did not, and its end need not be asked for.
#[cfg(unix)]
fn read_once(file: &File, bytes: &mut Vec<u8>, size: u64) -> bool {
    rustix::io::read(file, rustix::buffer::spare_capacity(bytes)).is_ok_and(|read| read as u64 == size)
}

#[cfg(not(unix))]
fn read_once(_: &File, _: &mut Vec<u8>, _: u64) -> bool {
    false
}

/// The same as text.
pub fn read_text_at_most(path: &Path, limit: u64) -> Result<String, OsError> {
    String::from_utf8(read_at_most(path, limit)?)
        .map_err(|error| OsError::NotUtf8 { path: path.to_path_buf(), valid_up_to: error.utf8_error().valid_up_to() })
}

/// Everything a stream gives until its end, if that is at most `limit` bytes; `name` is for the error.
pub fn read_stream_at_most(stream: impl Read, name: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>, OsError> {
    read_rest(stream, name.as_ref(), limit, Vec::new())
}

/// Adds the rest of a stream to what was read of it.
fn read_rest(stream: impl Read, name: &Path, limit: u64, mut bytes: Vec<u8>) -> Result<Vec<u8>, OsError> {
    // One byte more than allowed, to tell "exactly the limit" from "more".
    let most = limit.saturating_add(1).saturating_sub(bytes.len() as u64);
    stream.take(most).read_to_end(&mut bytes).map_err(|source| OsError::io("read", name, source))?;
    let size = bytes.len() as u64;
    if size > limit {
        return Err(too_large(name, size, limit));
    }
    Ok(bytes)
}

/// The last bytes of a regular file, at most `limit` of them, and where in the file they begin.
pub fn read_end(path: &Path, limit: u64) -> Result<(Vec<u8>, u64), OsError> {
    let (mut end, start, length) = seek_end(path, limit)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    end.read_to_end(&mut bytes).map_err(|source| OsError::io("read", path, source))?;
    Ok((bytes, start))
}

/// The same as a stream, for a reader that does not keep them.
pub fn open_end(path: &Path, limit: u64) -> Result<(io::Take<File>, u64), OsError> {
    seek_end(path, limit).map(|(end, start, _)| (end, start))
}

fn seek_end(path: &Path, limit: u64) -> Result<(io::Take<File>, u64, u64), OsError> {
    let (mut file, size) = open_regular(path)?;
    let start = size.saturating_sub(limit);
    if start > 0 {
        file.seek(SeekFrom::Start(start)).map_err(|source| OsError::io("read", path, source))?;
    }
    Ok((file.take(limit), start, size - start))
}

/// Whole lines of a file, up to its last line feed at the moment of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompleteLines {
    bytes: Vec<u8>,
    next_offset: u64,
}

impl CompleteLines {
    /// The lines without their line feeds; empty lines are skipped.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }

    /// Where to read on.
    pub fn next_offset(&self) -> u64 {
        self.next_offset
    }

    /// Whether no complete line was there.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// The complete lines from `offset` on, at most `limit` bytes of them.
///
/// A tail without a line feed is not given: a writer may be in the middle of it. A file shorter than
/// `offset` (it was rotated or truncated) gives nothing. One line longer than `limit` is
/// [`OsError::TooLarge`], because no call with this limit could ever get past it.
pub fn read_complete_lines(path: &Path, offset: u64, limit: usize) -> Result<CompleteLines, OsError> {
    let (mut file, size) = open_regular(path)?;
    let expected = usize::try_from(size.saturating_sub(offset)).unwrap_or(limit).min(limit);
    let mut bytes = Vec::with_capacity(expected + 1);
    file.seek(SeekFrom::Start(offset))
        .and_then(|_| file.take(limit as u64).read_to_end(&mut bytes))
        .map_err(|source| OsError::io("read", path, source))?;
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    if end.is_none() && bytes.len() == limit {
        return Err(too_large(path, limit as u64 + 1, limit as u64));
    }
    bytes.truncate(end.map_or(0, |last| last + 1));
    let next_offset = offset + bytes.len() as u64;
    Ok(CompleteLines { bytes, next_offset })
}

/// The last `count` complete lines, oldest first, reading the file backwards and at most `limit` bytes of it.
///
/// Empty lines and a tail without a line feed are not counted. When the limit is reached first,
/// fewer lines are given, each of them whole.
pub fn tail_lines(path: &Path, count: usize, limit: u64) -> Result<Vec<Vec<u8>>, OsError> {
    let (mut file, size) = open_regular(path)?;
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let mut start = size;
    let mut lines_seen = 0;
    // The line feed that ends the last line and the one before the first line both have to be seen.
    while start > 0 && lines_seen <= count && size - start < limit {
        let length = TAIL_BLOCK_BYTES.min(start).min(limit - (size - start));
        start -= length;
        let block = read_block(&mut file, start, length).map_err(|source| OsError::io("read", path, source))?;
        lines_seen += count_line_ends(&block);
        blocks.push(block);
    }
    let bytes: Vec<u8> = blocks.into_iter().rev().flatten().collect();
    Ok(last_lines(&bytes, count, start == 0))
}

/// Line feeds that end a line which is not empty, judged within one block.
fn count_line_ends(block: &[u8]) -> usize {
    let is_end = |pair: &&[u8]| matches!(pair, [before, b'\n'] if *before != b'\n');
    block.windows(2).filter(is_end).count()
}

fn last_lines(bytes: &[u8], count: usize, starts_at_line: bool) -> Vec<Vec<u8>> {
    let first = if starts_at_line {
        0
    } else {
        let line_feed = bytes.iter().position(|byte| *byte == b'\n');
        line_feed.unwrap_or(bytes.len())
    };
    let end = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let complete = bytes.get(first..end).unwrap_or_default();
    let mut lines: Vec<Vec<u8>> = complete
        .rsplit(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .take(count)
        .map(<[u8]>::to_vec)
        .collect();
    lines.reverse();
    lines
}

fn read_block(file: &mut File, start: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut block = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(length).read_to_end(&mut block)?;
    Ok(block)
}

fn open_regular(path: &Path) -> Result<(File, u64), OsError> {
    let file = open_unblocked(path)?;
    let size = size_of_regular(&file, path)?;
    Ok((file, size))
}

fn size_of_regular(file: &File, path: &Path) -> Result<u64, OsError> {
    let metadata = file.metadata().map_err(|source| OsError::io("inspect", path, source))?;
    if metadata.is_file() { Ok(metadata.len()) } else { Err(OsError::NotAFile { path: path.to_path_buf() }) }
}

fn open_unblocked(path: &Path) -> Result<File, OsError> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        // Without NONBLOCK, opening a named pipe that nobody writes would never return.
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags);
    }
    options.open(path).map_err(|source| OsError::io("open", path, source))
}

fn too_large(path: &Path, size: u64, limit: u64) -> OsError {
    OsError::TooLarge { path: path.to_path_buf(), size, limit }
}
