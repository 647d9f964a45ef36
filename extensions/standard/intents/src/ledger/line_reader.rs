//! Reads the ledger from its start, line by line, with the offset of each.

use std::io::{self, BufRead, BufReader};
use std::path::Path;

use dispatch_os::files::{self, File};
use sha2::{Digest, Sha256};

use super::line::{LedgerLine, MAX_LINE_BYTES};
use crate::hash::spell;

const READ_BYTES: usize = 256 * 1024;

/// The lines of a ledger.
#[derive(Debug)]
pub(crate) struct LedgerLineReader {
    input: Option<BufReader<File>>,
    number: u64,
    offset: u64,
}

impl LedgerLineReader {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let input = match files::open(path) {
            Ok(file) => Some(BufReader::with_capacity(READ_BYTES, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { input, number: 0, offset: 0 })
    }

    fn read(&mut self) -> io::Result<Option<LedgerLine>> {
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
        Ok(Some(LedgerLine { number: self.number, offset, length, bytes, ended, long_link }))
    }
}

impl Iterator for LedgerLineReader {
    type Item = io::Result<LedgerLine>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.read().transpose();
        if matches!(line, Some(Err(_))) {
            self.input = None;
        }
        line
    }
}
