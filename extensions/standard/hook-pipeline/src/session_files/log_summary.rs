//! What every invocation asks of the end of the log, found in one pass over a small buffer.
//!
//! Holding all of that end in memory would touch more fresh pages than the rest of an invocation does.

use std::io::{self, Read};
use std::path::Path;

use dispatch_os::files::open_end;

use super::header::{DELIVERY_KEY, HEADER_BYTES, Header, turn_finder};
use super::search::{Finder, line_end};

/// Longer than the start of a line and the mark of a delivery together, so that both fit in what is carried over.
const BUFFER_BYTES: usize = 8 * 1024;

/// What the end of a log tells at a log. It is the same as what [`Tail`](super::Tail) tells of the same bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogSummary {
    /// The highest turn that a whole line tells of.
    pub last_turn_id: u64,
    /// Whether there is a whole line.
    pub has_lines: bool,
    /// Whether the delivery may be among the lines; if not, it is not.
    pub may_hold_delivery: bool,
}

impl LogSummary {
    /// Looks at the last `limit` bytes; sees nothing if the file cannot be read.
    #[must_use]
    pub(crate) fn at(path: &Path, limit: u64, delivery: Option<&str>) -> Self {
        let Ok((end, offset)) = open_end(path, limit) else {
            return Self::default();
        };
        Self::over(end, offset > 0, delivery).unwrap_or_default()
    }

    fn over(mut end: impl Read, starts_within_line: bool, delivery: Option<&str>) -> io::Result<Self> {
        let mark = delivery.map(|key| format!("{DELIVERY_KEY}{key}\""));
        let mark = mark.as_ref().map(|mark| Finder::new(mark.as_bytes()));
        // What is carried over holds all but the last byte of a mark, and never fills the buffer.
        let overlap = mark.as_ref().map_or(0, |mark| mark.needle_len().saturating_sub(1)).min(BUFFER_BYTES / 2);
        let mut lines = Lines::new(starts_within_line);
        let mut found = false;
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut filled = 0;
        loop {
            let room = buffer.get_mut(filled..).unwrap_or_default();
            let count = match end.read(room) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            filled += count;
            let bytes = buffer.get(..filled).unwrap_or_default();
            found = found || mark.as_ref().is_some_and(|mark| mark.find(bytes).is_some());
            lines.advance(bytes);
            let kept = lines.at.min(filled.saturating_sub(overlap));
            buffer.copy_within(kept..filled, 0);
            lines.at -= kept;
            filled -= kept;
        }
        Ok(Self { last_turn_id: lines.last_turn_id, has_lines: lines.has_lines, may_hold_delivery: found })
    }
}

/// Goes from line to line.
struct Lines {
    finder: Finder<'static>,
    /// Where to go on in the buffer.
    at: usize,
    place: Place,
    last_turn_id: u64,
    has_lines: bool,
}

enum Place {
    LineStart,
    /// Behind the start of a line, which tells of a turn if the line ends.
    Within(Option<u64>),
    /// In the end of a line that began before.
    Unseen,
}

impl Lines {
    fn new(starts_within_line: bool) -> Self {
        let place = if starts_within_line { Place::Unseen } else { Place::LineStart };
        Self { finder: turn_finder(), at: 0, place, last_turn_id: 0, has_lines: false }
    }

    /// Goes on as far as the bytes tell; what lies before `at` is not needed any more.
    fn advance(&mut self, bytes: &[u8]) {
        while let Some(rest) = bytes.get(self.at..).filter(|rest| !rest.is_empty()) {
            match self.place {
                Place::LineStart => {
                    let head = rest.get(..HEADER_BYTES).unwrap_or(rest);
                    if let Some(end) = line_end(head) {
                        let line = head.get(..end).unwrap_or_default();
                        self.end_of(Header::of(line).turn_id_by(&self.finder));
                        self.at += end + 1;
                    } else if head.len() == HEADER_BYTES {
                        self.place = Place::Within(Header::of(head).turn_id_by(&self.finder));
                        self.at += HEADER_BYTES;
                    } else {
                        return;
                    }
                }
                Place::Within(_) | Place::Unseen => {
                    let Some(end) = line_end(rest) else {
                        self.at = bytes.len();
                        return;
                    };
                    if let Place::Within(turn) = self.place {
                        self.end_of(turn);
                    }
                    self.place = Place::LineStart;
                    self.at += end + 1;
                }
            }
        }
    }

    fn end_of(&mut self, turn: Option<u64>) {
        self.has_lines = true;
        self.last_turn_id = self.last_turn_id.max(turn.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_files::tail::Tail;
    use proptest::prelude::*;

    /// Gives a few bytes at a time, as a disk may.
    struct ShortReads<'a>(&'a [u8], usize);

    impl Read for ShortReads<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(room.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            room[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn line() -> impl Strategy<Value = String> {
        let size = prop_oneof![Just(0_usize), 1..2_000_usize, Just(630), Just(20_000)];
        (0..9_u64, size, any::<bool>(), any::<bool>()).prop_map(|(turn, size, late, marked)| {
            let filler = "x".repeat(size);
            let delivery = if marked { ",\"delivery\":\"0123456789abcdef\"" } else { "" };
            let (before, after) = if late { (filler.as_str(), "") } else { ("", filler.as_str()) };
            format!("{{\"id\":\"{before}\",\"turnId\":{turn},\"event\":\"E\"{delivery},\"d\":\"{after}\"}}")
        })
    }

    proptest! {
        #[test]
        fn a_summary_says_what_the_tail_holds(
            lines in prop::collection::vec(prop_oneof![4 => line(), 1 => Just(String::new())], 0..12),
            torn in any::<bool>(),
            limit in 1..40_000_u64,
            step in prop_oneof![1..300_usize, Just(8192)],
        ) {
            let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            if torn {
                text.push_str(r#"{"id":"","turnId":99,"event":"E""#);
            }
            let file = tempfile::NamedTempFile::new().expect("a file");
            std::fs::write(file.path(), &text).expect("writable");
            let tail = Tail::read(file.path(), limit);
            let key = "0123456789abcdef";
            let from = text.len().saturating_sub(usize::try_from(limit).expect("small"));
            let short_reads = ShortReads(&text.as_bytes()[from..], step);
            let slow = LogSummary::over(short_reads, from > 0, Some(key)).expect("readable");
            let log = LogSummary::at(file.path(), limit, Some(key));
            prop_assert_eq!(slow, log);
            prop_assert_eq!(log.last_turn_id, tail.last_turn_id());
            prop_assert_eq!(log.has_lines, !tail.is_empty());
            let held = tail.iter().any(|line| String::from_utf8_lossy(line).contains(",\"delivery\":\"0123456789abcdef\""));
            prop_assert!(log.may_hold_delivery || !held);
        }
    }

    #[test]
    fn what_is_no_file_tells_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(LogSummary::at(folder.path(), 10, None), LogSummary::default());
        assert_eq!(LogSummary::at(&folder.path().join("missing"), 10, Some("k")), LogSummary::default());
    }
}
