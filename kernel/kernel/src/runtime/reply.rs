//! A model's reply as it streams in: deltas gathered into chunks, chunks into rows.

use dispatch_contracts::conversation::{Chunk, ChunkState, Role, RowBody};

/// The reply of one step so far. Every method returns the rows that are due.
#[derive(Default)]
pub(super) struct Reply {
    next_index: u32,
    open: Option<Open>,
}

struct Open {
    index: u32,
    part: u32,
    chunk: Chunk,
}

/// What kind of text streams in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    /// Words for the user.
    Text,
    /// Words the model says to itself.
    Reasoning,
}

impl Reply {
    /// Adds text. A row is due when the voice changes or when `flush_bytes` have gathered.
    pub(super) fn add(&mut self, voice: Voice, delta: &str, flush_bytes: usize) -> Vec<RowBody> {
        let mut due = Vec::new();
        if self.open.as_ref().is_some_and(|open| open.voice() != voice) {
            due.extend(self.close(ChunkState::Whole));
        }
        let index = self.next_index;
        let open = self.open.get_or_insert_with(|| Open { index, part: 0, chunk: voice.empty() });
        open.push(delta);
        if open.len() >= flush_bytes.max(1) {
            due.extend(open.flush());
        }
        due
    }

    /// Seals the reasoning so far.
    pub(super) fn seal(&mut self, signature: String) -> Vec<RowBody> {
        let mut due = Vec::new();
        if self.open.as_ref().is_some_and(|open| open.voice() != Voice::Reasoning) {
            due.extend(self.close(ChunkState::Whole));
        }
        let index = self.next_index;
        let open = self.open.get_or_insert_with(|| Open { index, part: 0, chunk: Voice::Reasoning.empty() });
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

impl Voice {
    fn empty(self) -> Chunk {
        match self {
            Self::Text => Chunk::Text { text: String::new() },
            Self::Reasoning => Chunk::Reasoning { text: String::new(), signature: None },
        }
    }
}

impl Open {
    fn voice(&self) -> Voice {
        if matches!(self.chunk, Chunk::Reasoning { .. }) { Voice::Reasoning } else { Voice::Text }
    }

    fn push(&mut self, delta: &str) {
        if let Chunk::Text { text } | Chunk::Reasoning { text, .. } = &mut self.chunk {
            text.push_str(delta);
        }
    }

    fn len(&self) -> usize {
        match &self.chunk {
            Chunk::Text { text } | Chunk::Reasoning { text, .. } => text.len(),
            _ => 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.len() == 0 && !matches!(&self.chunk, Chunk::Reasoning { signature: Some(_), .. })
    }

    /// A row of what has gathered; what follows is the next part of the same chunk.
    fn flush(&mut self) -> Option<RowBody> {
        let empty = self.voice().empty();
        let chunk = std::mem::replace(&mut self.chunk, empty);
        let flushed = Self { index: self.index, part: self.part, chunk };
        self.part += 1;
        Some(flushed.row(ChunkState::Whole))
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
        let mut reply = Reply::default();
        let mut rows = reply.add(Voice::Text, "abc", 4);
        assert!(rows.is_empty());
        rows.extend(reply.add(Voice::Text, "def", 4));
        assert_eq!(rows.len(), 1, "enough has gathered");
        rows.extend(reply.add(Voice::Text, "gh", 4));
        rows.extend(reply.close(ChunkState::Whole));
        assert_eq!(message(rows), [Chunk::Text { text: "abcdefgh".into() }]);
    }

    #[test]
    fn voices_and_calls_keep_their_order() {
        let mut reply = Reply::default();
        let mut rows = reply.add(Voice::Reasoning, "hm", 100);
        rows.extend(reply.seal("seal".into()));
        rows.extend(reply.add(Voice::Text, "so", 100));
        let (due, index) = reply.take_index();
        rows.extend(due);
        assert_eq!(index, 2);
        rows.extend(reply.add(Voice::Text, "then", 100));
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
