//! Content hashes as the ledger spells them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use dispatch_os::digest::sha256;
use sha2::{Digest, Sha256};

/// What every hash begins with.
pub const PREFIX: &str = "sha256:";
const READ_BYTES: usize = 256 * 1024;
/// Hex digits of a line's hash: enough to tell lines of one project apart, short enough to keep.
const LINE_DIGITS: usize = 10;
const NAME_DIGITS: usize = 40;

/// `sha256:` and 64 hex digits, of the raw bytes.
#[must_use]
pub fn content_hash(bytes: &[u8]) -> String {
    spell(&Sha256::digest(bytes))
}

/// The hash of a file as it is now; `None` if there is no such file.
///
/// # Errors
/// When there is a file that cannot be read.
pub fn file_hash(path: &Path) -> io::Result<Option<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(spell(&hasher.finalize()))),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
}

/// The short hash of one line, without its line ending.
#[must_use]
pub fn line_hash(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut text = hex(&Sha256::digest(line));
    text.truncate(LINE_DIGITS);
    text
}

/// A file name for something of any length: 40 hex digits of its hash.
pub(crate) fn digits_of(bytes: &[u8]) -> String {
    let mut text = hex(&sha256(bytes));
    text.truncate(NAME_DIGITS);
    text
}

pub(crate) fn spell(digest: &[u8]) -> String {
    format!("{PREFIX}{}", hex(digest))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_hash_is_of_the_raw_bytes() {
        assert_eq!(content_hash(b""), EMPTY);
        assert_ne!(content_hash(b"a\n"), content_hash(b"a\r\n"));
    }

    #[test]
    fn an_absent_file_has_none_and_an_empty_one_the_hash_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(file_hash(&path).unwrap(), None);
        std::fs::write(&path, b"").unwrap();
        assert_eq!(file_hash(&path).unwrap().as_deref(), Some(EMPTY));
        let large = vec![7; READ_BYTES * 2 + 1];
        std::fs::write(&path, &large).unwrap();
        assert_eq!(file_hash(&path).unwrap(), Some(content_hash(&large)));
    }

    #[test]
    fn a_line_is_the_same_whatever_ends_it() {
        assert_eq!(line_hash(b"x"), line_hash(b"x\r\n"));
        assert_eq!(line_hash(b"x").len(), LINE_DIGITS);
    }
}
