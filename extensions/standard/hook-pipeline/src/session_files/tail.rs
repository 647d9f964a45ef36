//! The end of a log, in whole lines; a log of any length costs the same.

use std::path::Path;

use dispatch_hook_module::Record;
use dispatch_os::files::read_end;

use super::header::DELIVERY_KEY;
#[cfg(test)]
use super::header::{Header, turn_finder};
use super::search::{Finder, last_line_end, line_end};

/// The part of the log that every invocation looks at.
pub(crate) const TAIL_BYTES: u64 = 64 * 1024;

/// Whole lines from the end of a file.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tail {
    lines: Vec<u8>,
}

impl Tail {
    /// The last whole lines within `limit` bytes; none if the file cannot be read.
    #[must_use]
    pub(crate) fn read(path: &Path, limit: u64) -> Self {
        let Ok((mut lines, offset)) = read_end(path, limit) else {
            return Self::default();
        };
        lines.truncate(last_line_end(&lines).map_or(0, |end| end + 1));
        if offset > 0 {
            // The first line is the end of another one.
            let start = line_end(&lines).map_or(lines.len(), |end| end + 1);
            lines.drain(..start);
        }
        Self { lines }
    }

    /// The lines, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.lines.as_slice();
        std::iter::from_fn(move || {
            let end = line_end(rest)?;
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            Some(line)
        })
        .filter(|line| !line.is_empty())
    }

    /// The lines, newest first.
    pub(crate) fn iter_back(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.lines.strip_suffix(b"\n").unwrap_or_default();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let start = last_line_end(rest).map_or(0, |end| end + 1);
            let (before, line) = rest.split_at(start);
            rest = before.strip_suffix(b"\n").unwrap_or_default();
            Some(line)
        })
        .filter(|line| !line.is_empty())
    }

    /// The records among the lines, oldest first.
    #[must_use]
    pub(crate) fn records(&self) -> Vec<Record> {
        self.iter().filter_map(Record::parse).collect()
    }

    /// The newest record of this delivery.
    #[must_use]
    pub(crate) fn delivery(&self, key: &str) -> Option<Record> {
        let mark = format!("{DELIVERY_KEY}{key}\"");
        let finder = Finder::new(mark.as_bytes());
        finder.find(&self.lines)?;
        let newest_first = self.iter_back().filter(|line| finder.find(line).is_some());
        newest_first.filter_map(Record::parse).find(|record| record.delivery.as_deref() == Some(key))
    }
}

/// What a pass over all lines finds; the summary of the log is tested against it.
#[cfg(test)]
impl Tail {
    /// The highest turn that a line tells of.
    pub(super) fn last_turn_id(&self) -> u64 {
        let finder = turn_finder();
        self.iter().filter_map(|line| Header::of(line).turn_id_by(&finder)).max().unwrap_or(0)
    }

    /// Whether there is no line.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(content: &[u8], limit: u64) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), content).expect("writable");
        let tail = Tail::read(file.path(), limit);
        let forwards: Vec<String> = tail.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        let mut backwards: Vec<String> =
            tail.iter_back().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        backwards.reverse();
        assert_eq!(forwards, backwards);
        forwards
    }

    #[test]
    fn only_whole_lines_within_the_limit_are_seen() {
        assert_eq!(tail(b"", 10), Vec::<String>::new());
        assert_eq!(tail(b"one\ntwo\n", 100), ["one", "two"]);
        assert_eq!(tail(b"one\n\n\ntwo\nthr", 100), ["one", "two"]);
        assert_eq!(tail(b"one\ntwo\n", 6), ["two"]);
        assert_eq!(tail(b"one\ntwo\n", 4), Vec::<String>::new());
        assert_eq!(tail(b"a line longer than the limit\n", 8), Vec::<String>::new());
        assert_eq!(tail(b"torn", 100), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_file_has_no_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Tail::read(folder.path(), 10).is_empty());
        assert!(Tail::read(&folder.path().join("missing"), 10).is_empty());
    }
}
