//! Keeps the beginning and the end of an output, however much comes between.

use std::borrow::Cow;
use std::collections::VecDeque;

/// How much of one output stream to keep in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureLimit {
    /// Bytes kept from the beginning.
    pub head_bytes: usize,
    /// Bytes kept from the end.
    pub tail_bytes: usize,
}

impl CaptureLimit {
    /// Keeps nothing; for callers that only stream.
    pub const NOTHING: Self = Self { head_bytes: 0, tail_bytes: 0 };
}

impl Default for CaptureLimit {
    /// 64 KiB from each end.
    fn default() -> Self {
        Self { head_bytes: 64 * 1024, tail_bytes: 64 * 1024 }
    }
}

/// What was kept of one output stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The beginning.
    pub head: Vec<u8>,
    /// The end; empty if everything fitted into the head.
    pub tail: Vec<u8>,
    /// Bytes dropped between the two.
    pub omitted_bytes: u64,
}

impl Captured {
    /// Bytes the child wrote.
    pub fn total_bytes(&self) -> u64 {
        self.head.len() as u64 + self.omitted_bytes + self.tail.len() as u64
    }

    /// Whether anything was dropped.
    pub fn is_truncated(&self) -> bool {
        self.omitted_bytes > 0
    }

    /// Head and tail, with a line between them that says how much was dropped, if anything was.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        if self.tail.is_empty() && !self.is_truncated() {
            return Cow::Borrowed(&self.head);
        }
        let mut bytes = self.head.clone();
        if self.is_truncated() {
            let marker = format!("\n[... {} bytes omitted ...]\n", self.omitted_bytes);
            bytes.extend_from_slice(marker.as_bytes());
        }
        bytes.extend_from_slice(&self.tail);
        Cow::Owned(bytes)
    }

    /// [`Self::bytes`] as text; what is not UTF-8 becomes U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

/// Takes chunks and keeps no more than its limit.
#[derive(Debug)]
pub(super) struct Capture {
    limit: CaptureLimit,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted_bytes: u64,
}

impl Capture {
    pub(super) fn new(limit: CaptureLimit) -> Self {
        Self { limit, head: Vec::new(), tail: VecDeque::new(), omitted_bytes: 0 }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        let room = self.limit.head_bytes.saturating_sub(self.head.len());
        let (first, rest) = chunk.split_at(room.min(chunk.len()));
        self.head.extend_from_slice(first);

        let kept = rest.len().min(self.limit.tail_bytes);
        let (skipped, rest) = rest.split_at(rest.len() - kept);
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.limit.tail_bytes);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
        self.omitted_bytes += (skipped.len() + surplus) as u64;
    }

    /// What was kept; the capture starts anew.
    pub(super) fn take(&mut self) -> Captured {
        let Self { head, tail, omitted_bytes, .. } = std::mem::replace(self, Self::new(self.limit));
        Captured { head, tail: tail.into(), omitted_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn capture(head_bytes: usize, tail_bytes: usize, chunks: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(CaptureLimit { head_bytes, tail_bytes });
        chunks.iter().for_each(|chunk| capture.push(chunk));
        capture.take()
    }

    #[test]
    fn the_middle_is_dropped_and_counted() {
        let cases: [(usize, usize, &[&[u8]], &str); 7] = [
            (4, 4, &[], ""),
            (4, 4, &[b"abcd"], "abcd"),
            (4, 4, &[b"abcdefgh"], "abcdefgh"),
            (4, 4, &[b"ab", b"cdef", b"gh"], "abcdefgh"),
            (2, 2, &[b"abcdefgh"], "ab\n[... 4 bytes omitted ...]\ngh"),
            (2, 2, &[b"a", b"bcd", b"efg", b"h"], "ab\n[... 4 bytes omitted ...]\ngh"),
            (0, 0, &[b"abc"], "\n[... 3 bytes omitted ...]\n"),
        ];
        for (head, tail, chunks, text) in cases {
            assert_eq!(capture(head, tail, chunks).text(), text);
        }
    }

    proptest! {
        #[test]
        fn head_and_tail_are_the_ends_of_what_came(
            head in 0_usize..8,
            tail in 0_usize..8,
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..12), 0..8),
        ) {
            let all: Vec<u8> = chunks.concat();
            let slices: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
            let captured = capture(head, tail, &slices);
            prop_assert!(captured.head.len() <= head && captured.tail.len() <= tail);
            prop_assert_eq!(captured.total_bytes(), all.len() as u64);
            prop_assert!(all.starts_with(&captured.head) && all.ends_with(&captured.tail));
            prop_assert_eq!(captured.is_truncated(), all.len() > head + tail);
        }
    }
}
