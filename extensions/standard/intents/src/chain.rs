//! The chains of the ledger: each line contains the hash of the line that it follows in its own session, so the lines
//! verify in any order, and merging two ledgers by union breaks nothing. A small file beside the ledger contains the end
//! of each chain that was written on this machine.
//!
//! Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hash::{content_hash, line_hash};
use crate::trace_entry::TraceEntry;

/// What the first line of a session contains as the hash of the line before it.
pub(crate) const START: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
/// The most chains in a head; the one that was written longest ago is left out first.
const MAX_CHAINS: usize = 64;
/// The most missing lines in a head; the first ones are kept.
const MAX_MISSING: usize = 64;
/// The most added lines of the end of a chain in a head.
const MAX_END_LINES: usize = 3;

/// The hash that the next line of the session must contain. `line` has no line ending.
#[must_use]
pub(crate) fn link(line: &[u8]) -> String {
    content_hash(line)
}

/// The end of the ledger, as stored in `agent_trace.head` on the machine that wrote it. It is written after the line, so
/// after a crash it can be behind the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LedgerHead {
    /// Lines in the ledger.
    pub entries: u64,
    /// Bytes in the ledger.
    pub bytes: u64,
    /// The link of the last line.
    pub last: String,
    /// The ends of the chains by session; `None` in a head from before there was a chain per session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chains: Option<BTreeMap<String, ChainEnd>>,
    /// Links of lines that were written here and then removed by something other than git.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The last line of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChainEnd {
    /// Its link.
    pub link: String,
    /// The id of its entry.
    pub id: String,
    /// The number of lines in the ledger when it was written.
    pub entries: u64,
    /// The changed file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The hash of its content after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_hash: Option<String>,
    /// Hashes of the first added lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

impl ChainEnd {
    /// The end of a chain that is this entry.
    #[must_use]
    pub(crate) fn of(entry: &TraceEntry, link: String, entries: u64) -> Self {
        let added = entry.added.iter().flat_map(|run| &run.hashes).take(MAX_END_LINES).cloned().collect();
        let file = entry.file.as_ref();
        Self {
            link,
            id: entry.id.clone(),
            entries,
            path: file.map(|file| file.relative_path.clone()),
            post_hash: file.and_then(|file| file.post_hash.clone()),
            added,
        }
    }

    /// Whether a file with this content still has the change.
    #[must_use]
    pub(crate) fn is_in(&self, content: &[u8]) -> bool {
        let has = |hash: &String| content.split(|byte| *byte == b'\n').any(|line| line_hash(line) == *hash);
        match self.added.is_empty() {
            true => self.post_hash.as_deref() == Some(content_hash(content).as_str()),
            false => self.added.iter().all(has),
        }
    }
}

impl Default for LedgerHead {
    fn default() -> Self {
        Self { entries: 0, bytes: 0, last: START.to_owned(), chains: Some(BTreeMap::new()), missing: Vec::new() }
    }
}

impl LedgerHead {
    /// The link that the next line of a session contains.
    #[must_use]
    pub(crate) fn next_prev(&self, session: &str) -> String {
        match &self.chains {
            // The first line after a ledger of the old form follows its last line, so that it stays protected.
            None => self.last.clone(),
            Some(chains) => chains.get(session).map_or_else(|| START.to_owned(), |end| end.link.clone()),
        }
    }

    /// Records the end of a session's chain.
    pub(crate) fn set_end(&mut self, session: &str, end: ChainEnd) {
        let chains = self.chains.get_or_insert_default();
        chains.insert(session.to_owned(), end);
        if chains.len() > MAX_CHAINS {
            let oldest = chains.iter().min_by_key(|(_, end)| end.entries).map(|(session, _)| session.clone());
            oldest.and_then(|session| chains.remove(&session));
        }
    }

    /// Records that a line is gone.
    pub(crate) fn add_missing(&mut self, link: String) {
        if self.missing.len() < MAX_MISSING && !self.missing.contains(&link) {
            self.missing.push(link);
        }
    }

    /// The links of every line that must be in the ledger.
    pub(crate) fn required_links(&self) -> impl Iterator<Item = &str> {
        let ends = self.chains.iter().flatten().map(|(_, end)| end.link.as_str());
        let old = self.chains.is_none().then_some(self.last.as_str()).filter(|last| *last != START);
        ends.chain(old).chain(self.missing.iter().map(String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_follows_its_own_session_and_the_first_one_the_old_form() {
        let old: LedgerHead = serde_json::from_str(r#"{"entries":2,"bytes":9,"last":"sha256:aa"}"#).unwrap();
        assert_eq!(old.next_prev("s"), "sha256:aa");
        let mut head = LedgerHead::default();
        assert_eq!(head.next_prev("s"), START);
        for number in 0..=MAX_CHAINS as u64 {
            let end = ChainEnd::of(&crate::query::samples::entry(number, "a"), format!("sha256:{number}"), number);
            head.set_end(&format!("s{number}"), end);
        }
        assert_eq!((head.next_prev("s0"), head.next_prev("s1")), (START.to_owned(), "sha256:1".to_owned()));
    }
}
