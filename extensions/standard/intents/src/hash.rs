//! Content hashes as the ledger writes them.
//!
//! Pure.

use dispatch_os::digest::sha256;

/// The prefix of every hash.
pub(crate) const PREFIX: &str = "sha256:";
/// Hex digits of a line's hash: enough to distinguish the lines of a project, short enough to store.
const LINE_DIGITS: usize = 10;
const NAME_DIGITS: usize = 40;

/// `sha256:` and 64 hex digits, of the raw bytes.
#[must_use]
pub(crate) fn content_hash(bytes: &[u8]) -> String {
    spell(&sha256(bytes))
}

/// The short hash of one line, without its line ending.
#[must_use]
pub(crate) fn line_hash(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut text = hex(&sha256(line));
    text.truncate(LINE_DIGITS);
    text
}

/// The short hash of one line without its spaces, so that a changed indentation keeps it.
#[must_use]
pub(crate) fn bare_line_hash(line: &[u8]) -> String {
    let bare: Vec<u8> = line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    line_hash(&bare)
}

/// A file name for bytes of any length: 40 hex digits of their hash.
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
    fn a_line_is_the_same_whatever_ends_it() {
        assert_eq!(line_hash(b"x"), line_hash(b"x\r\n"));
        assert_eq!(line_hash(b"x").len(), LINE_DIGITS);
    }
}
