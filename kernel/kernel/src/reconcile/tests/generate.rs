//! Logs as the turn loop writes them, cut and damaged in every way a disk or a bug can.

use dispatch_contracts::conversation::{Chunk, ChunkState, ResultStatus, Role, Row, RowBody, ToolCall, ToolResult};
use dispatch_contracts::ids::{CallId, RowId, TurnId};
use dispatch_contracts::provider::{Finish, Usage};
use dispatch_contracts::turn::TurnEnd;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct StepPlan {
    reasoning: bool,
    text_parts: u32,
    calls: u32,
    /// Bit n: the result of call n is stored before that of call n - 1.
    order: u8,
    steer: bool,
    broken: bool,
}

#[derive(Clone, Debug)]
struct TurnPlan {
    steps: Vec<StepPlan>,
    ended: bool,
}

fn step() -> impl Strategy<Value = StepPlan> {
    (any::<bool>(), 0..3_u32, 0..4_u32, any::<u8>(), any::<bool>(), proptest::bool::weighted(0.1)).prop_map(
        |(reasoning, text_parts, calls, order, steer, broken)| StepPlan {
            reasoning,
            text_parts,
            calls,
            order,
            steer,
            broken,
        },
    )
}

fn turn() -> impl Strategy<Value = TurnPlan> {
    (proptest::collection::vec(step(), 0..4), any::<bool>()).prop_map(|(steps, ended)| TurnPlan { steps, ended })
}

/// Logs of up to four turns, some broken.
pub(super) fn logs() -> impl Strategy<Value = Vec<Row>> {
    proptest::collection::vec(turn(), 0..4).prop_map(|turns| write(&turns))
}

/// Logs in which every turn ended well.
pub(super) fn clean_logs() -> impl Strategy<Value = Vec<Row>> {
    logs_of(turn().prop_map(|mut turn| {
        for step in &mut turn.steps {
            step.broken = false;
            step.calls = step.calls.max(1);
        }
        let last = StepPlan { reasoning: true, text_parts: 2, calls: 0, order: 0, steer: false, broken: false };
        turn.steps.push(last);
        turn.ended = true;
        turn
    }))
}

fn logs_of(turns: impl Strategy<Value = TurnPlan>) -> impl Strategy<Value = Vec<Row>> {
    proptest::collection::vec(turns, 0..4).prop_map(|turns| write(&turns))
}

struct LogWriter {
    rows: Vec<Row>,
    turn: TurnId,
    step: u32,
}

impl LogWriter {
    fn push(&mut self, body: RowBody) {
        let number = self.rows.len();
        let id = RowId::new(format!("row-{number}"));
        self.rows.push(Row { id, turn: self.turn.clone(), step: self.step, at_ms: number as u64 + 1, body });
    }

    fn say(&mut self, role: Role, index: u32, part: u32, chunk: Chunk, state: ChunkState) {
        self.push(RowBody::Chunk { role, index, part, chunk, state });
    }

    fn unique(&self, what: &str) -> String {
        format!("{what} {} of {}", self.rows.len(), self.turn)
    }
}

fn write(turns: &[TurnPlan]) -> Vec<Row> {
    let mut writer = LogWriter { rows: Vec::new(), turn: TurnId::new(""), step: 0 };
    for (number, turn) in turns.iter().enumerate() {
        writer.turn = TurnId::new(format!("turn-{number}"));
        writer.step = 0;
        let text = writer.unique("question");
        writer.say(Role::User, 0, 0, Chunk::Text { text }, ChunkState::Whole);
        for (step, plan) in turn.steps.iter().enumerate() {
            writer.step = u32::try_from(step).unwrap();
            write_step(&mut writer, plan);
        }
        if turn.ended {
            writer.push(RowBody::TurnEnded { end: TurnEnd::Finished });
        }
    }
    writer.rows
}

fn write_step(writer: &mut LogWriter, plan: &StepPlan) {
    let state = if plan.broken { ChunkState::Broken } else { ChunkState::Whole };
    let mut index = 0;
    if plan.reasoning {
        let text = writer.unique("thought");
        writer.say(Role::Assistant, index, 0, Chunk::Reasoning { text, signature: None }, ChunkState::Whole);
        index += 1;
    }
    for part in 0..plan.text_parts {
        let text = writer.unique("answer");
        writer.say(Role::Assistant, index, part, Chunk::Text { text }, state);
    }
    index += 1;
    let calls: Vec<ToolCall> = (0..plan.calls)
        .map(|number| ToolCall {
            id: CallId::new(format!("{}-{}-{number}", writer.turn, writer.step)),
            name: "tool".to_owned(),
            arguments: serde_json::Map::new(),
        })
        .collect();
    for (number, call) in calls.iter().enumerate() {
        let place = index + u32::try_from(number).unwrap();
        writer.say(Role::Assistant, place, 0, Chunk::ToolCall(call.clone()), ChunkState::Whole);
        writer.push(RowBody::CallStarted { index: place, call: call.clone() });
    }
    let mut ends: Vec<&ToolCall> = calls.iter().collect();
    if plan.order & 1 == 1 {
        ends.reverse();
    }
    for call in ends {
        let text = writer.unique("result");
        let result = ToolResult { call: call.id.clone(), status: ResultStatus::Succeeded, text, images: vec![] };
        writer.push(RowBody::CallEnded { result });
    }
    writer.push(RowBody::StepEnded { finish: Finish::Stop, usage: Usage::default() });
    if plan.steer && plan.calls > 0 {
        let text = writer.unique("steer");
        writer.push(RowBody::Steer { index: 0, text });
    }
}

/// One way to damage one row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Corruption {
    Removed,
    Duplicated,
    DuplicatedWithOtherId,
    Unreadable,
    SwappedWithNext,
    OtherTurn,
    OtherStep,
    OtherRole,
    Emptied,
    OtherCall,
    IdOfAnother,
}

impl Corruption {
    pub(super) const ALL: [Self; 11] = [
        Self::Removed,
        Self::Duplicated,
        Self::DuplicatedWithOtherId,
        Self::Unreadable,
        Self::SwappedWithNext,
        Self::OtherTurn,
        Self::OtherStep,
        Self::OtherRole,
        Self::Emptied,
        Self::OtherCall,
        Self::IdOfAnother,
    ];
}

pub(super) fn corrupt(rows: &[Row], at: usize, kind: Corruption, pick: u32) -> Vec<Row> {
    let mut rows = rows.to_vec();
    let other = rows[pick as usize % rows.len()].clone();
    match kind {
        Corruption::Removed => drop(rows.remove(at)),
        Corruption::Duplicated => rows.insert(at, rows[at].clone()),
        Corruption::DuplicatedWithOtherId => {
            let twin = Row { id: RowId::new("twin"), ..rows[at].clone() };
            rows.push(twin);
        }
        Corruption::Unreadable => rows[at].body = RowBody::Unreadable,
        Corruption::SwappedWithNext => {
            let next = (at + 1) % rows.len();
            rows.swap(at, next);
        }
        Corruption::OtherTurn => rows[at].turn = TurnId::new(format!("lost-{pick}")),
        Corruption::OtherStep => rows[at].step = pick % 7,
        Corruption::OtherRole => change_role(&mut rows[at].body),
        Corruption::Emptied => empty(&mut rows[at].body),
        Corruption::OtherCall => change_call(&mut rows[at].body, &other),
        Corruption::IdOfAnother => rows[at].id = other.id,
    }
    rows
}

fn change_role(body: &mut RowBody) {
    if let RowBody::Chunk { role, .. } = body {
        *role = match role {
            Role::User => Role::Assistant,
            Role::Assistant => Role::Tool,
            Role::Tool => Role::User,
        };
    }
}

fn empty(body: &mut RowBody) {
    match body {
        RowBody::Chunk { chunk: Chunk::Text { text } | Chunk::Reasoning { text, .. }, .. } => text.clear(),
        RowBody::CallEnded { result } => result.text.clear(),
        RowBody::Steer { text, .. } => *text = " \n".to_owned(),
        _ => {}
    }
}

fn change_call(body: &mut RowBody, other: &Row) {
    let id = other.body.call_id().cloned().unwrap_or_else(|| CallId::new("nobody"));
    match body {
        RowBody::Chunk { chunk: Chunk::ToolCall(call), .. } | RowBody::CallStarted { call, .. } => call.id = id,
        RowBody::CallEnded { result } => result.call = id,
        _ => {}
    }
}
