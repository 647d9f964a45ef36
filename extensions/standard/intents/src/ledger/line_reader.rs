//! Reads the ledger from its start, line by line, with the place of each.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::chain;
use crate::entry::TraceEntry;
use crate::hash::spell;

/// A longer line is not held in memory; its link is still right.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;
const READ_BYTES: usize = 256 * 1024;

/// One line of the ledger, without its line feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: u64,
    /// Where it starts.
    pub offset: u64,
    /// How long it is, without its line feed.
    pub length: u64,
    /// Its bytes; only the first [`MAX_LINE_BYTES`] of a longer one.
    pub bytes: Vec<u8>,
    /// Whether a line feed ends it; a line without one is torn or being written.
    pub ended: bool,
    long_link: Option<String>,
}

impl Line {
    /// What the line after it must name in `prev`.
    #[must_use]
    pub fn link(&self) -> String {
        self.long_link.clone().unwrap_or_else(|| chain::link(&self.bytes))
    }

    /// Its entry.
    ///
    /// # Errors
    /// When it is none.
    pub fn entry(&self) -> Result<TraceEntry, serde_json::Error> {
        serde_json::from_slice(&self.bytes)
    }
}

/// The lines of a ledger.
#[derive(Debug)]
pub struct LineReader {
    input: Option<BufReader<File>>,
    number: u64,
    offset: u64,
}

impl LineReader {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let input = match File::open(path) {
            Ok(file) => Some(BufReader::with_capacity(READ_BYTES, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { input, number: 0, offset: 0 })
    }

    fn read(&mut self) -> io::Result<Option<Line>> {
        let Some(input) = &mut self.input else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let mut length = 0_u64;
        let mut hasher: Option<Sha256> = None;
        let mut ended = false;
        while !ended {
            let block = match input.fill_buf() {
                Ok(block) => block,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if block.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', block);
            let (part, used) = match end {
                Some(end) => (block.get(..end).unwrap_or_default(), end + 1),
                None => (block, block.len()),
            };
            ended = end.is_some();
            length += part.len() as u64;
            let room = MAX_LINE_BYTES.saturating_sub(bytes.len());
            if part.len() > room && hasher.is_none() {
                hasher = Some(Sha256::new_with_prefix(&bytes));
            }
            if let Some(hasher) = &mut hasher {
                hasher.update(part);
            }
            bytes.extend_from_slice(part.get(..part.len().min(room)).unwrap_or_default());
            input.consume(used);
        }
        if length == 0 && !ended {
            return Ok(None);
        }
        self.number += 1;
        let offset = self.offset;
        self.offset += length + u64::from(ended);
        let long_link = hasher.map(|hasher| spell(&hasher.finalize()));
        Ok(Some(Line { number: self.number, offset, length, bytes, ended, long_link }))
    }
}

impl Iterator for LineReader {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.read().transpose();
        if matches!(line, Some(Err(_))) {
            self.input = None;
        }
        line
    }
}
