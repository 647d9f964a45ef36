//! A model's reply as it streams in: deltas gathered into chunks, chunks into rows.

use dispatch_contracts::conversation::{Chunk, ChunkState, Role, RowBody};

/// The reply of one step so far. Every method returns the rows that are due.
#[derive(Default)]
pub(super) struct StreamedReply {
    next_index: u32,
    open: Option<OpenChunk>,
}

struct OpenChunk {
    index: u32,
    part: u32,
    chunk: Chunk,
    /// Whether the end of the text has waited before and nothing has come since.
    rested: bool,
}

/// What kind of text streams in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// Words for the user.
    Text,
    /// Words the model says to itself.
    Reasoning,
}

impl StreamedReply {
    /// Adds text. A row is due when the kind changes or when `flush_bytes` have gathered.
    pub(super) fn add(&mut self, kind: TextKind, delta: &str, flush_bytes: usize) -> Vec<RowBody> {
        let mut due = Vec::new();
        if self.open.as_ref().is_some_and(|open| open.kind() != kind) {
            due.extend(self.close(ChunkState::Whole));
        }
        let index = self.next_index;
        let open = self.open.get_or_insert_with(|| OpenChunk::new(index, kind));
        open.push(delta);
        if open.len() >= flush_bytes.max(1) {
            due.extend(open.flush(open.last_boundary().unwrap_or(open.len())));
        }
        due
    }

    /// Whether text waits to be stored.
    pub(super) fn waits(&self) -> bool {
        self.open.as_ref().is_some_and(OpenChunk::has_text)
    }

    /// Stores what has waited long enough: whole words while more comes, everything once nothing does.
    /// A word that two rows share could hide a secret from whoever reads row by row.
    pub(super) fn flush(&mut self) -> Option<RowBody> {
        let open = self.open.as_mut().filter(|open| open.has_text())?;
        if std::mem::replace(&mut open.rested, true) {
            let end = open.len();
            return open.flush(end);
        }
        let end = open.last_boundary()?;
        open.flush(end)
    }

    /// Seals the reasoning so far.
    pub(super) fn seal(&mut self, signature: String) -> Vec<RowBody> {
        let mut due = Vec::new();
        if self.open.as_ref().is_some_and(|open| open.kind() != TextKind::Reasoning) {
            due.extend(self.close(ChunkState::Whole));
        }
        let index = self.next_index;
        let open = self.open.get_or_insert_with(|| OpenChunk::new(index, TextKind::Reasoning));
        if let Chunk::Reasoning { signature: seal, .. } = &mut open.chunk {
            *seal = Some(signature);
        }
        due.extend(self.close(ChunkState::Whole));
        due
    }

    /// Ends the open text, if there is one.
    pub(super) fn close(&mut self, state: ChunkState) -> Option<RowBody> {
        let open = self.open.take()?;
        self.next_index = open.index + 1;
        (open.part == 0 || !open.is_empty() || state == ChunkState::Broken).then(|| open.row(state))
    }

    /// The place of a chunk that is not text; closes the open text first.
    pub(super) fn take_index(&mut self) -> (Option<RowBody>, u32) {
        let due = self.close(ChunkState::Whole);
        self.next_index += 1;
        (due, self.next_index - 1)
    }
}

impl TextKind {
    fn empty(self) -> Chunk {
        match self {
            Self::Text => Chunk::Text { text: String::new() },
            Self::Reasoning => Chunk::Reasoning { text: String::new(), signature: None },
        }
    }
}

impl OpenChunk {
    fn new(index: u32, kind: TextKind) -> Self {
        Self { index, part: 0, chunk: kind.empty(), rested: false }
    }

    fn kind(&self) -> TextKind {
        if matches!(self.chunk, Chunk::Reasoning { .. }) { TextKind::Reasoning } else { TextKind::Text }
    }

    fn push(&mut self, delta: &str) {
        if let Chunk::Text { text } | Chunk::Reasoning { text, .. } = &mut self.chunk {
            text.push_str(delta);
            self.rested = false;
        }
    }

    /// Behind the last character that no secret can go on across.
    fn last_boundary(&self) -> Option<usize> {
        let (Chunk::Text { text } | Chunk::Reasoning { text, .. }) = &self.chunk else { return None };
        let (at, last) = text.char_indices().rfind(|(_, char)| char.is_whitespace() || !char.is_ascii())?;
        Some(at + last.len_utf8())
    }

    fn len(&self) -> usize {
        match &self.chunk {
            Chunk::Text { text } | Chunk::Reasoning { text, .. } => text.len(),
            _ => 0,
        }
    }

    fn has_text(&self) -> bool {
        matches!(&self.chunk, Chunk::Text { text } | Chunk::Reasoning { text, .. } if !text.is_empty())
    }

    fn is_empty(&self) -> bool {
        !self.has_text() && !matches!(&self.chunk, Chunk::Reasoning { signature: Some(_), .. })
    }

    /// A row of what has gathered up to a place; what follows is the next part of the same chunk.
    fn flush(&mut self, end: usize) -> Option<RowBody> {
        let (Chunk::Text { text } | Chunk::Reasoning { text, .. }) = &mut self.chunk else { return None };
        let rest = text.split_off(end);
        let said = std::mem::replace(text, rest);
        let chunk = match self.kind() {
            TextKind::Text => Chunk::Text { text: said },
            TextKind::Reasoning => Chunk::Reasoning { text: said, signature: None },
        };
        let part = self.part;
        self.part += 1;
        Some(RowBody::Chunk { role: Role::Assistant, index: self.index, part, chunk, state: ChunkState::Whole })
    }

    fn row(self, state: ChunkState) -> RowBody {
        RowBody::Chunk { role: Role::Assistant, index: self.index, part: self.part, chunk: self.chunk, state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::conversation::{Row, project};
    use dispatch_contracts::ids::{RowId, TurnId};

    fn message(bodies: Vec<RowBody>) -> Vec<Chunk> {
        let row = |body| Row { id: RowId::new("r"), turn: TurnId::new("t"), step: 0, at_ms: 0, body };
        let rows: Vec<Row> = bodies.into_iter().map(row).collect();
        project(&rows).into_iter().flat_map(|message| message.chunks).collect()
    }

    #[test]
    fn long_text_is_stored_in_parts_and_reads_as_one() {
        let mut reply = StreamedReply::default();
        let mut rows = reply.add(TextKind::Text, "abc", 4);
        assert!(rows.is_empty());
        rows.extend(reply.add(TextKind::Text, "def", 4));
        assert_eq!(rows.len(), 1, "enough has gathered");
        rows.extend(reply.add(TextKind::Text, "gh", 4));
        rows.extend(reply.close(ChunkState::Whole));
        assert_eq!(message(rows), [Chunk::Text { text: "abcdefgh".into() }]);
    }

    #[test]
    fn text_that_waits_is_stored_in_whole_words_until_nothing_comes() {
        let mut reply = StreamedReply::default();
        assert!(!reply.waits() && reply.flush().is_none());
        let mut rows = reply.add(TextKind::Text, "the key is sk-", 100);
        rows.extend(reply.flush());
        rows.extend(reply.add(TextKind::Text, "live", 100));
        assert_eq!(message(rows.clone()), [Chunk::Text { text: "the key is ".into() }]);
        rows.extend(reply.flush());
        assert_eq!(rows.len(), 1, "the last word may go on");
        rows.extend(reply.flush());
        assert_eq!(message(rows.clone()), [Chunk::Text { text: "the key is sk-live".into() }]);
        assert!(!reply.waits() && reply.flush().is_none());
        rows.extend(reply.add(TextKind::Text, "\u{4e16}\u{754c}", 100));
        rows.extend(reply.flush());
        rows.extend(reply.close(ChunkState::Whole));
        assert_eq!(message(rows), [Chunk::Text { text: "the key is sk-live\u{4e16}\u{754c}".into() }]);
    }

    #[test]
    fn voices_and_calls_keep_their_order() {
        let mut reply = StreamedReply::default();
        let mut rows = reply.add(TextKind::Reasoning, "hm", 100);
        rows.extend(reply.seal("seal".into()));
        rows.extend(reply.add(TextKind::Text, "so", 100));
        let (due, index) = reply.take_index();
        rows.extend(due);
        assert_eq!(index, 2);
        rows.extend(reply.add(TextKind::Text, "then", 100));
        rows.extend(reply.close(ChunkState::Broken));
        let expected = [
            Chunk::Reasoning { text: "hm".into(), signature: Some("seal".into()) },
            Chunk::Text { text: "so".into() },
            Chunk::Text { text: "then".into() },
        ];
        assert_eq!(message(rows), expected);
        assert!(reply.close(ChunkState::Whole).is_none());
    }
}
