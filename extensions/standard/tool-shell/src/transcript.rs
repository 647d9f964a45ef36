//! What a command printed, both streams as they came, never more than fits.
//!
//! Pure.

use std::collections::VecDeque;

/// Bytes of a foreground command that are kept from its beginning and from its end. A turn shows less and
/// keeps the rest where it can be read.
const HEAD_BYTES: usize = 512 * 1024;
const TAIL_BYTES: usize = 512 * 1024;

/// The beginning and the end of an output.
#[derive(Default)]
pub(crate) struct CommandTranscript {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: usize,
}

impl CommandTranscript {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let room = HEAD_BYTES.saturating_sub(self.head.len()).min(chunk.len());
        let (first, rest) = chunk.split_at(room);
        self.head.extend_from_slice(first);
        self.omitted += keep_newest(&mut self.tail, rest, TAIL_BYTES);
    }

    pub(crate) fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.omitted > 0 {
            bytes.extend_from_slice(format!("\n[... {} bytes left out ...]\n", self.omitted).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Appends and drops what is oldest; says how much was dropped.
fn keep_newest(kept: &mut VecDeque<u8>, chunk: &[u8], limit: usize) -> usize {
    let skipped = chunk.len().saturating_sub(limit);
    let newest = chunk.get(skipped..).unwrap_or_default();
    let surplus = (kept.len() + newest.len()).saturating_sub(limit);
    kept.drain(..surplus.min(kept.len()));
    kept.extend(newest);
    skipped + surplus
}

/// Bytes of a background command that are kept.
const KEPT_BYTES: usize = 256 * 1024;
/// Bytes that one look shows.
const SHOWN_BYTES: usize = 32 * 1024;

/// The newest part of an output, by the position of each byte in all that was printed.
#[derive(Default)]
pub(crate) struct OutputBuffer {
    kept: VecDeque<u8>,
    start: usize,
}

/// A part of a buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutputPart {
    pub(crate) text: String,
    /// Bytes between what was asked for and what is there.
    pub(crate) lost: usize,
    /// Where to look on.
    pub(crate) next: usize,
    /// Bytes behind this part.
    pub(crate) behind: usize,
}

impl OutputBuffer {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.start += keep_newest(&mut self.kept, chunk, KEPT_BYTES);
    }

    pub(crate) fn total(&self) -> usize {
        self.start + self.kept.len()
    }

    /// From a position on, or the newest part.
    pub(crate) fn part(&self, since: Option<usize>) -> OutputPart {
        let total = self.total();
        let asked = since.unwrap_or_else(|| total.saturating_sub(SHOWN_BYTES)).min(total);
        let from = asked.max(self.start);
        let bytes: Vec<u8> = self.kept.iter().skip(from - self.start).take(SHOWN_BYTES).copied().collect();
        let whole = whole_characters(&bytes);
        let next = from + whole.len();
        let lost = if since.is_some() { from - asked } else { 0 };
        OutputPart { text: String::from_utf8_lossy(whole).into_owned(), lost, next, behind: total - next }
    }
}

/// Without a character at the end that is not there as a whole, unless there is nothing else.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            bytes.get(..error.valid_up_to()).unwrap_or(bytes)
        }
        _ => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_output_is_left_out_and_told() {
        let mut transcript = CommandTranscript::default();
        transcript.push(b"start\n");
        for _ in 0..30 {
            transcript.push(&[b'x'; 64 * 1024]);
        }
        transcript.push(b"\nend");
        let text = transcript.text();
        assert!(text.starts_with("start\n") && text.ends_with("\nend"));
        let left_out = 6 + 30 * 64 * 1024 + 4 - HEAD_BYTES - TAIL_BYTES;
        assert!(text.contains(&format!("[... {left_out} bytes left out ...]")));
    }

    #[test]
    fn a_tape_is_read_from_where_one_left_off() {
        let mut buffer = OutputBuffer::default();
        buffer.push("h\u{e9}llo".as_bytes());
        assert_eq!(buffer.part(None), OutputPart { text: "h\u{e9}llo".to_owned(), lost: 0, next: 6, behind: 0 });
        assert_eq!(buffer.part(Some(3)).text, "llo");
        assert_eq!(buffer.part(Some(99)), OutputPart { text: String::new(), lost: 0, next: 6, behind: 0 });
        buffer.push(b"\xe2\x82");
        assert_eq!(buffer.part(Some(3)), OutputPart { text: "llo".to_owned(), lost: 0, next: 6, behind: 2 });
        buffer.push(b"\xac");
        assert_eq!(buffer.part(Some(6)).text, "\u{20ac}");
    }

    #[test]
    fn a_tape_forgets_its_beginning_and_says_so() {
        let mut buffer = OutputBuffer::default();
        buffer.push(&vec![b'a'; KEPT_BYTES]);
        buffer.push(&[b'b'; 10]);
        let part = buffer.part(Some(4));
        assert_eq!((part.lost, part.text.len(), part.next), (6, SHOWN_BYTES, 10 + SHOWN_BYTES));
        assert!(buffer.part(None).text.ends_with("bbb"));
        buffer.push(&vec![b'c'; KEPT_BYTES * 2]);
        assert_eq!(buffer.total(), KEPT_BYTES * 3 + 10);
    }
}
