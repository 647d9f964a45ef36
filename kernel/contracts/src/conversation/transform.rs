//! The pure ways between messages and rows: `explode` for writing, `project` for reading.

use super::message::{Chunk, Message, Role};
use super::row::{ChunkState, Row, RowBody};
use crate::ids::{CallId, TurnId};
use std::collections::BTreeMap;

/// The rows that hold one message at one step. A `Tool` message becomes results and steered text.
pub fn explode(message: &Message) -> Vec<RowBody> {
    let mut index = 0..;
    let mut next = || index.next().unwrap_or(u32::MAX);
    let rows = message.chunks.iter().map(|chunk| match (message.role, chunk) {
        (Role::Tool, Chunk::ToolResult(result)) => RowBody::CallEnded { result: result.clone() },
        (Role::Tool, Chunk::Text { text }) => RowBody::Steer { index: next(), text: text.clone() },
        (role, chunk) => {
            RowBody::Chunk { role, index: next(), part: 0, chunk: chunk.clone(), state: ChunkState::Whole }
        }
    });
    rows.collect()
}

/// The messages that a log holds, in model order whatever the order on disk. Empty chunks are left
/// out; adjacent messages of one role become one. The result is only as valid as the log: see the kernel's `reconcile`.
pub fn project(rows: &[Row]) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for step in steps(rows) {
        for message in step.messages() {
            match messages.last_mut() {
                Some(last) if last.role == message.role && last.calls().next().is_none() => {
                    last.chunks.extend(message.chunks);
                }
                _ => messages.push(message),
            }
        }
    }
    messages
}

/// The rows of one step, in reading order.
struct Step<'a> {
    rows: Vec<&'a Row>,
}

/// Steps in reading order: turns as they first appear, steps by number.
fn steps(rows: &[Row]) -> Vec<Step<'_>> {
    let mut order: BTreeMap<&TurnId, usize> = BTreeMap::new();
    for row in rows {
        let next = order.len();
        order.entry(&row.turn).or_insert(next);
    }
    let mut groups: BTreeMap<(usize, u32), Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let turn = order.get(&row.turn).copied().unwrap_or_default();
        groups.entry((turn, row.step)).or_default().push(row);
    }
    groups.into_values().map(|rows| Step { rows }).collect()
}

impl Step<'_> {
    fn messages(&self) -> Vec<Message> {
        let user = Message { role: Role::User, chunks: self.spoken(Role::User) };
        let assistant = Message { role: Role::Assistant, chunks: self.spoken(Role::Assistant) };
        let tool = Message { role: Role::Tool, chunks: self.answers(&assistant) };
        let marker = Message { role: Role::Assistant, chunks: self.markers() };
        [user, assistant, tool, marker].into_iter().filter(|message| !message.chunks.is_empty()).collect()
    }

    /// The chunks of one role, with the parts of a text joined.
    fn spoken(&self, wanted: Role) -> Vec<Chunk> {
        let mut pieces: Vec<(u32, u32, &Chunk)> = self
            .rows
            .iter()
            .filter_map(|row| match &row.body {
                RowBody::Chunk { role, index, part, chunk, .. } if *role == wanted => Some((*index, *part, chunk)),
                _ => None,
            })
            .collect();
        pieces.sort_by_key(|(index, part, _)| (*index, *part));
        let mut chunks: Vec<(u32, Chunk)> = Vec::new();
        for (index, part, piece) in pieces {
            let open = chunks.last_mut().filter(|(open, _)| part > 0 && *open == index);
            if !open.is_some_and(|(_, chunk)| join(chunk, piece)) {
                chunks.push((index, piece.clone()));
            }
        }
        chunks.into_iter().map(|(_, chunk)| chunk).filter(|chunk| !chunk.is_empty()).collect()
    }

    /// Results in the order of the calls, then the text steered in behind them.
    fn answers(&self, assistant: &Message) -> Vec<Chunk> {
        let mut results: Vec<_> = self
            .rows
            .iter()
            .filter_map(|row| match &row.body {
                RowBody::CallEnded { result } => Some(result),
                _ => None,
            })
            .collect();
        let place = |call: &CallId| assistant.calls().position(|known| known.id == *call).unwrap_or(usize::MAX);
        results.sort_by_key(|result| place(&result.call));
        let mut steered: Vec<(u32, &String)> = self
            .rows
            .iter()
            .filter_map(|row| match &row.body {
                RowBody::Steer { index, text } => Some((*index, text)),
                _ => None,
            })
            .collect();
        steered.sort_by_key(|(index, _)| *index);
        let results = results.into_iter().cloned().map(Chunk::ToolResult);
        let steered = steered.into_iter().map(|(_, text)| Chunk::Text { text: text.clone() });
        results.chain(steered.filter(|chunk| !chunk.is_empty())).collect()
    }

    fn markers(&self) -> Vec<Chunk> {
        let markers = self.rows.iter().filter_map(|row| match &row.body {
            RowBody::Marker { text } => Some(Chunk::Text { text: text.clone() }),
            _ => None,
        });
        markers.collect()
    }
}

/// Joins a later part to an open chunk; `false` when the two are of different kinds.
fn join(open: &mut Chunk, part: &Chunk) -> bool {
    match (open, part) {
        (Chunk::Text { text }, Chunk::Text { text: more }) => text.push_str(more),
        (Chunk::Reasoning { text, signature }, Chunk::Reasoning { text: more, signature: seal }) => {
            text.push_str(more);
            if seal.is_some() {
                signature.clone_from(seal);
            }
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{ResultStatus, ToolCall, ToolResult};
    use crate::ids::RowId;

    fn rows(step: u32, bodies: Vec<RowBody>) -> Vec<Row> {
        let row = |body| Row { id: RowId::new("r"), turn: TurnId::new("t"), step, at_ms: 0, body };
        bodies.into_iter().map(row).collect()
    }

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "tool".into(), arguments: serde_json::Map::new() }
    }

    fn result(id: &str) -> ToolResult {
        ToolResult { call: id.into(), status: ResultStatus::Succeeded, text: id.to_owned(), images: vec![] }
    }

    #[test]
    fn results_stand_in_model_order_whatever_the_order_of_their_end() {
        let assistant =
            Message { role: Role::Assistant, chunks: vec![Chunk::ToolCall(call("a")), Chunk::ToolCall(call("b"))] };
        let mut bodies = explode(&assistant);
        bodies.insert(0, RowBody::Steer { index: 0, text: "also this".into() });
        bodies.insert(0, RowBody::CallEnded { result: result("b") });
        bodies.push(RowBody::CallEnded { result: result("a") });
        let messages = project(&rows(0, bodies));
        let ids: Vec<_> = messages[1].results().map(|result| result.call.as_str()).collect();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(messages[1].chunks.last(), Some(&Chunk::Text { text: "also this".into() }));
    }

    #[test]
    fn parts_of_a_text_are_joined_in_order() {
        let part = |part, text: &str| RowBody::Chunk {
            role: Role::Assistant,
            index: 0,
            part,
            chunk: Chunk::Text { text: text.into() },
            state: ChunkState::Whole,
        };
        let messages = project(&rows(0, vec![part(1, "b"), part(0, "a"), part(2, "c")]));
        assert_eq!(messages, vec![Message::text(Role::Assistant, "abc")]);
    }

    #[test]
    fn a_message_survives_the_way_to_rows_and_back() {
        let user = Message {
            role: Role::User,
            chunks: vec![Chunk::Text { text: "one".into() }, Chunk::Text { text: "two".into() }],
        };
        assert_eq!(project(&rows(0, explode(&user))), vec![user]);
    }
}
