//! Anchors: the ends of the chains that a commit adds lines to, in its message, so that even the loss of the ledger is
//! detected.
//!
//! Pure.

use crate::hash::PREFIX;

/// The key of the trailer.
pub(crate) const ANCHOR_KEY: &str = "Intent-Ledger";
/// The most digits of the number of lines.
const MAX_COUNT_DIGITS: usize = 18;

/// The end of one session's chain in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerAnchor {
    /// The commit; empty for the next one.
    pub commit: String,
    /// Lines of the session; in an old anchor, lines of the ledger.
    pub entries: u64,
    /// The link of the last line of the chain.
    pub last: String,
}

impl LedgerAnchor {
    /// The value of the trailer.
    #[must_use]
    pub fn value(&self) -> String {
        format!("{} {}", self.entries, self.last)
    }

    /// The anchor in one line of a commit message, with any indentation (a squash adds it).
    #[must_use]
    pub fn parse(commit: &str, line: &str) -> Option<Self> {
        let value = line.trim().strip_prefix(ANCHOR_KEY)?.strip_prefix(':')?.trim();
        let (count, last) = value.split_once(' ')?;
        let digits = last.strip_prefix(PREFIX)?;
        let plain = digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !plain || count.len() > MAX_COUNT_DIGITS || !count.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let entries = count.parse().ok().filter(|entries| *entries > 0)?;
        Some(Self { commit: commit.to_owned(), entries, last: last.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_read_as_it_is_written() {
        let anchor = LedgerAnchor { commit: "c0ffee".into(), entries: 12, last: crate::hash::content_hash(b"x") };
        let line = format!("    {ANCHOR_KEY}: {}", anchor.value());
        assert_eq!(LedgerAnchor::parse("c0ffee", &line), Some(anchor.clone()));
        for wrong in
            ["Intent-Ledger: 12", "Intent-Ledger: 12 sha256:zz", "Intent-Ledger: x sha256:", "Intent: INT-001", ""]
        {
            assert_eq!(LedgerAnchor::parse("c", wrong), None, "{wrong}");
        }
        assert_eq!(LedgerAnchor::parse("c", &line.replace("12 ", "0 ")), None);
        assert_eq!(LedgerAnchor::parse("c", &line.replace("12 ", "99999999999999999999 ")), None);
    }
}
