//! Second pass: each call has one id, one chunk and one result, in one step.

use super::Repair;
use super::reading::order;
use dispatch_contracts::conversation::{Chunk, ChunkState, ResultStatus, Role, Row, RowBody, ToolCall, ToolResult};
use dispatch_contracts::ids::{CallId, RowId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What the model reads for a call that was never started.
pub const NEVER_STARTED: &str = "This call was not run: the turn was interrupted before it started.";

/// What the model reads for a call whose end was not recorded.
pub const OUTCOME_UNKNOWN: &str = "This call was started, but the turn was interrupted before its outcome was recorded. \
     It may or may not have taken effect. Check the present state before relying on it or running it again.";

/// Stands between two results of one call.
const SECOND_RESULT: &str = "\n[Another result was recorded for the same call:]\n";

/// The rows that speak of calls, by call id, in reading order.
#[derive(Default)]
struct CallRecords {
    started: BTreeMap<CallId, VecDeque<Row>>,
    ended: BTreeMap<CallId, VecDeque<Row>>,
}

pub(super) fn answer(rows: Vec<Row>, repairs: &mut Vec<Repair>) -> Vec<Row> {
    let (mut rows, mut records) = take_apart(rows);
    rebuild_lost_chunks(&mut rows, &records, repairs);
    let rows = order(rows);
    let mut taken: BTreeSet<CallId> = rows.iter().filter_map(|row| row.body.call_id().cloned()).collect();
    let mut seen: BTreeSet<CallId> = BTreeSet::new();
    let mut complete = Vec::with_capacity(rows.len());
    for mut row in rows {
        if let RowBody::Chunk { index, chunk: Chunk::ToolCall(call), .. } = &mut row.body {
            let asked = call.id.clone();
            if !seen.insert(asked.clone()) {
                call.id = fresh_id(&asked, &taken);
                taken.insert(call.id.clone());
                repairs.push(Repair::RenamedCall(asked.clone()));
            }
            let (index, call) = (*index, call.clone());
            let life = records.settle(&asked, &row, index, &call, repairs);
            complete.push(row);
            complete.extend(life);
        } else {
            complete.push(row);
        }
    }
    records.merge_rest(&mut complete, repairs);
    order(move_stray_steers(complete, repairs))
}

/// Parts the rows that speak of a call's life from all others.
fn take_apart(rows: Vec<Row>) -> (Vec<Row>, CallRecords) {
    let mut records = CallRecords::default();
    let mut others = Vec::with_capacity(rows.len());
    for row in rows {
        match &row.body {
            RowBody::CallStarted { call, .. } => records.started.entry(call.id.clone()).or_default().push_back(row),
            RowBody::CallEnded { result } => records.ended.entry(result.call.clone()).or_default().push_back(row),
            _ => others.push(row),
        }
    }
    (others, records)
}

/// A call that was started but has no chunk gets its chunk back.
fn rebuild_lost_chunks(rows: &mut Vec<Row>, records: &CallRecords, repairs: &mut Vec<Repair>) {
    let known: BTreeSet<CallId> = rows.iter().filter_map(|row| row.body.call_id().cloned()).collect();
    for (id, started) in records.started.iter().filter(|(id, _)| !known.contains(id)) {
        let Some(first) = started.front() else { continue };
        let RowBody::CallStarted { index, call } = &first.body else { continue };
        let body = RowBody::Chunk {
            role: Role::Assistant,
            index: *index,
            part: 0,
            chunk: Chunk::ToolCall(call.clone()),
            state: ChunkState::Whole,
        };
        rows.push(Row { id: RowId::new(format!("repair/{id}/call")), at_ms: 0, body, ..first.clone() });
        repairs.push(Repair::RebuiltCall(id.clone()));
    }
}

impl CallRecords {
    /// The start and the end of one call, both in the step of its chunk and under its id.
    fn settle(
        &mut self,
        asked: &CallId,
        chunk_row: &Row,
        index: u32,
        call: &ToolCall,
        repairs: &mut Vec<Repair>,
    ) -> Vec<Row> {
        let started = self.started.get_mut(asked).and_then(VecDeque::pop_front);
        let ended = self.ended.get_mut(asked).and_then(VecDeque::pop_front);
        let was_started = started.is_some();
        let started = started.map(|row| {
            let arguments = match &row.body {
                RowBody::CallStarted { call, .. } => call.arguments.clone(),
                _ => call.arguments.clone(),
            };
            let call = ToolCall { arguments, ..call.clone() };
            Row {
                turn: chunk_row.turn.clone(),
                step: chunk_row.step,
                body: RowBody::CallStarted { index, call },
                ..row
            }
        });
        let ended = ended.map(|row| match row.body {
            RowBody::CallEnded { result } => Row {
                turn: chunk_row.turn.clone(),
                step: chunk_row.step,
                body: RowBody::CallEnded { result: ToolResult { call: call.id.clone(), ..result } },
                ..row
            },
            _ => row,
        });
        let ended = ended.unwrap_or_else(|| {
            repairs.push(if was_started {
                Repair::OutcomeUnknown(call.id.clone())
            } else {
                Repair::NeverStarted(call.id.clone())
            });
            synthetic_end(chunk_row, &call.id, was_started)
        });
        started.into_iter().chain([ended]).collect()
    }

    /// What is left over repeats a call's life, or speaks of no call at all. A second result that says
    /// something else is kept behind the first: which of them is true is unknown.
    fn merge_rest(self, rows: &mut [Row], repairs: &mut Vec<Repair>) {
        for row in self.started.into_values().chain(self.ended.into_values()).flatten() {
            let RowBody::CallEnded { result: extra } = row.body else {
                repairs.push(Repair::Duplicate(row.id));
                continue;
            };
            let first = rows.iter_mut().find_map(|row| match &mut row.body {
                RowBody::CallEnded { result } if result.call == extra.call => Some(result),
                _ => None,
            });
            repairs.push(match &first {
                Some(_) => Repair::Duplicate(row.id),
                None => Repair::OrphanResult(extra.call),
            });
            if let Some(first) = first.filter(|first| !first.text.contains(&extra.text)) {
                first.text.push_str(SECOND_RESULT);
                first.text.push_str(&extra.text);
            }
        }
    }
}

fn synthetic_end(chunk_row: &Row, call: &CallId, was_started: bool) -> Row {
    let (status, text) =
        if was_started { (ResultStatus::Unknown, OUTCOME_UNKNOWN) } else { (ResultStatus::NotRun, NEVER_STARTED) };
    let result = ToolResult { call: call.clone(), status, text: text.to_owned(), images: Vec::new() };
    Row {
        id: RowId::new(format!("repair/{call}/result")),
        turn: chunk_row.turn.clone(),
        step: chunk_row.step,
        at_ms: 0,
        body: RowBody::CallEnded { result },
    }
}

fn fresh_id(id: &CallId, taken: &BTreeSet<CallId>) -> CallId {
    let candidates = (2_u64..).map(|number| CallId::new(format!("{id}~{number}")));
    candidates.into_iter().find(|candidate| !taken.contains(candidate)).unwrap_or_else(|| id.clone())
}

/// Text steered in behind calls that are not there becomes the user's own message of that step.
fn move_stray_steers(mut rows: Vec<Row>, repairs: &mut Vec<Repair>) -> Vec<Row> {
    let with_calls: BTreeSet<_> = rows
        .iter()
        .filter(|row| matches!(row.body, RowBody::CallEnded { .. }))
        .map(|row| (row.turn.clone(), row.step))
        .collect();
    for row in &mut rows {
        if let RowBody::Steer { index, text } = &row.body
            && !with_calls.contains(&(row.turn.clone(), row.step))
        {
            row.body = RowBody::Chunk {
                role: Role::User,
                index: *index,
                part: 0,
                chunk: Chunk::Text { text: text.clone() },
                state: ChunkState::Whole,
            };
            repairs.push(Repair::Moved(row.id.clone()));
        }
    }
    rows
}
