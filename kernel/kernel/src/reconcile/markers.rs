//! Third pass: puts a marker where the model or the user should have spoken and did not.

use super::reading::order;
use super::{Extent, Repair};
use dispatch_contracts::conversation::{Chunk, ChunkState, Role, Row, RowBody, project};
use dispatch_contracts::ids::{RowId, TurnId};
use std::collections::BTreeMap;

/// Stands at the end of a reply that broke off.
pub const INTERRUPTED: &str = "[This reply was interrupted before it was finished.]";

/// Stands for a reply that never came.
pub const NO_REPLY: &str = "[No reply was given to this message.]";

/// Stands beside reasoning that led to no words.
pub const NO_TEXT: &str = "[This reply had no text.]";

/// Stands for the user's first message when it is lost.
pub const LOST_OPENING: &str = "[The beginning of this conversation could not be read.]";

pub(super) fn mark(rows: Vec<Row>, extent: Extent, repairs: &mut Vec<Repair>) -> Vec<Row> {
    let steps = summarise(&rows);
    let mut marks: Vec<Row> = Vec::new();
    let question = steps.first().filter(|_| extent != Extent::Log).map(StepSummary::question);
    let mut before: Option<(&StepSummary, Speaker)> = question.as_ref().map(|step| (step, Speaker::User));
    if extent == Extent::Log
        && let Some(first) = steps.iter().find(|step| !step.speakers().is_empty())
        && first.speakers().first() != Some(&Speaker::User)
    {
        marks.push(first.opening());
    }
    for (at, step) in steps.iter().enumerate() {
        if step.needs_text() {
            marks.push(step.marker(if step.broken { INTERRUPTED } else { NO_TEXT }));
        }
        for speaker in step.speakers() {
            if let (Some((silent, last)), Speaker::User) = (before, speaker) {
                marks.extend(silent.reply_missing(last));
            }
            before = Some((step, speaker));
        }
        let next = steps.get(at + 1);
        let over = next.map_or(extent != Extent::RunningTurn, |next| next.turn != step.turn);
        if over && let Some((last_step, Speaker::Tool)) = before {
            marks.extend(last_step.reply_missing(Speaker::Tool));
            before = Some((last_step, Speaker::Assistant));
        }
    }
    marks.dedup_by(|one, other| one.id == other.id);
    repairs.extend(marks.iter().map(|row| Repair::Marked { turn: row.turn.clone(), step: row.step }));
    order(rows.into_iter().chain(marks).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    Tool,
}

/// Who speaks in one step, without what is said.
#[derive(Default)]
struct StepSummary {
    turn: TurnId,
    number: u32,
    user: bool,
    assistant: bool,
    tool: bool,
    text: bool,
    broken: bool,
    marked: bool,
}

impl StepSummary {
    /// The step in which the user asked, when that row is not among the rows.
    fn question(&self) -> Self {
        Self { turn: self.turn.clone(), user: true, ..Self::default() }
    }

    fn speakers(&self) -> Vec<Speaker> {
        let spoke = [
            (self.user, Speaker::User),
            (self.assistant, Speaker::Assistant),
            (self.tool, Speaker::Tool),
            (self.marked || self.needs_text(), Speaker::Assistant),
        ];
        spoke.into_iter().filter(|(speaks, _)| *speaks).map(|(_, speaker)| speaker).collect()
    }

    /// A reply that broke off, or that is reasoning alone.
    fn needs_text(&self) -> bool {
        let silent = self.assistant && !self.text && !self.tool;
        !self.marked && ((self.broken && !self.tool) || silent)
    }

    fn reply_missing(&self, last: Speaker) -> Option<Row> {
        match last {
            Speaker::User => Some(self.marker(NO_REPLY)),
            Speaker::Tool => Some(self.marker(INTERRUPTED)),
            Speaker::Assistant => None,
        }
    }

    fn marker(&self, text: &str) -> Row {
        self.row("marker", RowBody::Marker { text: text.to_owned() })
    }

    fn opening(&self) -> Row {
        let chunk = Chunk::Text { text: LOST_OPENING.to_owned() };
        self.row("opening", RowBody::Chunk { role: Role::User, index: 0, part: 0, chunk, state: ChunkState::Whole })
    }

    fn row(&self, what: &str, body: RowBody) -> Row {
        let id = RowId::new(format!("repair/{}/{}/{what}", self.turn, self.number));
        Row { id, turn: self.turn.clone(), step: self.number, at_ms: 0, body }
    }
}

/// The steps in reading order; `rows` are in reading order already.
fn summarise(rows: &[Row]) -> Vec<StepSummary> {
    let mut groups: Vec<(&TurnId, u32, Vec<Row>)> = Vec::new();
    let mut places: BTreeMap<(&TurnId, u32), usize> = BTreeMap::new();
    for row in rows {
        let place = *places.entry((&row.turn, row.step)).or_insert_with(|| {
            groups.push((&row.turn, row.step, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, _, rows)) = groups.get_mut(place) {
            rows.push(row.clone());
        }
    }
    groups.into_iter().map(|(turn, number, rows)| summary(turn, number, &rows)).collect()
}

fn summary(turn: &TurnId, number: u32, rows: &[Row]) -> StepSummary {
    let marked = |row: &Row| matches!(row.body, RowBody::Marker { .. });
    let spoken: Vec<Row> = rows.iter().filter(|row| !marked(row)).cloned().collect();
    let messages = project(&spoken);
    let has = |role| messages.iter().any(|message| message.role == role);
    let text = messages
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .flat_map(|message| &message.chunks)
        .any(|chunk| matches!(chunk, Chunk::Text { .. }));
    let broken = rows.iter().any(|row| matches!(row.body, RowBody::Chunk { state: ChunkState::Broken, .. }));
    let ended = rows.iter().any(|row| matches!(row.body, RowBody::StepEnded { .. }));
    StepSummary {
        turn: turn.clone(),
        number,
        user: has(Role::User),
        assistant: has(Role::Assistant),
        tool: has(Role::Tool),
        text,
        // Words without an end were stored by a process that died before the rest came.
        broken: broken || (text && !ended),
        marked: rows.iter().any(marked),
    }
}
