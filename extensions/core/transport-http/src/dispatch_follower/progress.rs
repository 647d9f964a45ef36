//! Merges live news and stored rows of one turn into one sequence without gaps or repetitions.
//!
//! Pure.
//!
//! Live news is quick but may be lost; rows come later and hold everything. Text is told as soon as
//! it is heard, and rows tell whatever they have beyond that. After a loss the step's live text is
//! no longer the continuation of what was told, so the rows alone speak until the next step.

use dispatch_contracts::conversation::{Chunk, Role, Row, RowBody, ToolCall, ToolResult};
use dispatch_contracts::ids::{CallId, RowId, TurnId};
use dispatch_contracts::turn::TurnEvent;
use ext_session_orchestrator::contract::{ApprovalRequest, DispatchId, DispatchView, SessionEvent, SessionNews};
use std::collections::{BTreeMap, BTreeSet};

/// A piece of a reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ReplyEvent {
    /// The model says something.
    Text { step: u32, text: String },
    /// The model thinks something.
    Thought { step: u32, text: String },
    /// The model asks for a tool.
    Called(ToolCall),
    /// The call runs.
    Started(CallId),
    /// The call prints something.
    Printed { call: CallId, text: String },
    /// The call has its outcome.
    Ended(ToolResult),
    /// A person is asked about a call.
    Asked(Box<ApprovalRequest>),
    /// An extension delayed or broke the turn, or is switched off.
    Notice(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DeltaKind {
    Text,
    Thought,
}

/// How much of the text of one kind in one step was reported, and what is stored.
#[derive(Default)]
struct DeltaProgress {
    told_bytes: usize,
    /// How far live text has come; a row may be ahead of it, because it is stored first.
    heard_bytes: usize,
    stored: String,
    /// Live text was lost, so it does not continue what was told.
    broken: bool,
}

/// What is known of one dispatch.
pub(crate) struct DispatchProgress {
    dispatch: DispatchId,
    turn: Option<TurnId>,
    step: u32,
    tracks: BTreeMap<(u32, DeltaKind), DeltaProgress>,
    rows: BTreeSet<RowId>,
    called: BTreeSet<CallId>,
    started: BTreeSet<CallId>,
    /// Turns that had not taken the dispatch when storage was asked.
    others: BTreeSet<TurnId>,
}

impl DispatchProgress {
    pub(crate) fn new(dispatch: DispatchId) -> Self {
        Self {
            dispatch,
            turn: None,
            step: 0,
            tracks: BTreeMap::new(),
            rows: BTreeSet::new(),
            called: BTreeSet::new(),
            started: BTreeSet::new(),
            others: BTreeSet::new(),
        }
    }

    /// Which turn took the dispatch. One that was taken up again begins its reply anew.
    pub(crate) fn note(&mut self, view: &DispatchView) {
        if view.id != self.dispatch || view.turn.is_none() || view.turn == self.turn {
            return;
        }
        self.turn.clone_from(&view.turn);
        self.tracks.clear();
        self.step = 0;
    }

    /// Whether storage must be asked which turn has the dispatch: a turn speaks that is not known, as when another
    /// process runs it, or takes a message in.
    pub(crate) fn is_unsure(&mut self, news: &SessionNews) -> bool {
        let (turn, takes_in) = match news {
            SessionNews::Row { row } => (&row.turn, matches!(row.body, RowBody::Steer { .. })),
            SessionNews::Asked { request } => (&request.turn, false),
            _ => return false,
        };
        self.turn.as_ref() != Some(turn) && (self.others.insert(turn.clone()) || takes_in)
    }

    /// Takes one piece of news.
    pub(crate) fn hear(&mut self, event: SessionEvent) -> Vec<ReplyEvent> {
        match event.news {
            SessionNews::Dispatch { dispatch } => {
                self.note(&dispatch);
                Vec::new()
            }
            SessionNews::Row { row } => self.store(&row),
            SessionNews::Live { turn, live } if self.turn.as_ref() == Some(&turn) => self.live(live),
            SessionNews::Asked { request } if self.turn.as_ref() == Some(&request.turn) => {
                vec![ReplyEvent::Asked(Box::new(request))]
            }
            SessionNews::Lagged => {
                for kind in [DeltaKind::Text, DeltaKind::Thought] {
                    self.tracks.entry((self.step, kind)).or_default().broken = true;
                }
                Vec::new()
            }
            SessionNews::Live { .. } | SessionNews::Asked { .. } | SessionNews::Settled { .. } => Vec::new(),
        }
    }

    fn live(&mut self, live: TurnEvent) -> Vec<ReplyEvent> {
        match live {
            TurnEvent::StepStarted { step } => {
                self.step = step;
                Vec::new()
            }
            TurnEvent::TextDelta { step, text } => self.say(step, DeltaKind::Text, text),
            TurnEvent::ReasoningDelta { step, text } => self.say(step, DeltaKind::Thought, text),
            TurnEvent::CallOutput { call, text, .. } => vec![ReplyEvent::Printed { call, text }],
            TurnEvent::Notice { text, .. } => vec![ReplyEvent::Notice(text)],
            TurnEvent::CallStarted { .. } | TurnEvent::CallEnded { .. } | TurnEvent::TurnEnded { .. } => Vec::new(),
        }
    }

    fn say(&mut self, step: u32, kind: DeltaKind, text: String) -> Vec<ReplyEvent> {
        self.step = self.step.max(step);
        let track = self.tracks.entry((step, kind)).or_default();
        if track.broken || text.is_empty() {
            return Vec::new();
        }
        let known = track.told_bytes.saturating_sub(track.heard_bytes);
        track.heard_bytes += text.len();
        let Some(more) = text.get(known..).filter(|more| !more.is_empty()) else { return Vec::new() };
        track.told_bytes = track.heard_bytes;
        vec![told(kind, step, more.to_owned())]
    }

    /// Takes one stored row; the same row again changes nothing.
    pub(crate) fn store(&mut self, row: &Row) -> Vec<ReplyEvent> {
        if self.turn.as_ref() != Some(&row.turn) || !self.rows.insert(row.id.clone()) {
            return Vec::new();
        }
        match &row.body {
            RowBody::Chunk { role: Role::Assistant, chunk, .. } => match chunk {
                Chunk::Text { text } => self.keep(row.step, DeltaKind::Text, text),
                Chunk::Reasoning { text, .. } => self.keep(row.step, DeltaKind::Thought, text),
                Chunk::ToolCall(call) => self.call(call),
                Chunk::Image(_) | Chunk::ToolResult(_) => Vec::new(),
            },
            RowBody::CallStarted { call, .. } => {
                let mut replies = self.call(call);
                if self.started.insert(call.id.clone()) {
                    replies.push(ReplyEvent::Started(call.id.clone()));
                }
                replies
            }
            RowBody::CallEnded { result } => vec![ReplyEvent::Ended(result.clone())],
            _ => Vec::new(),
        }
    }

    fn call(&mut self, call: &ToolCall) -> Vec<ReplyEvent> {
        if self.called.insert(call.id.clone()) { vec![ReplyEvent::Called(call.clone())] } else { Vec::new() }
    }

    fn keep(&mut self, step: u32, kind: DeltaKind, text: &str) -> Vec<ReplyEvent> {
        let track = self.tracks.entry((step, kind)).or_default();
        track.stored.push_str(text);
        let Some(more) = track.stored.get(track.told_bytes..).filter(|more| !more.is_empty()) else {
            return Vec::new();
        };
        let more = more.to_owned();
        track.told_bytes = track.stored.len();
        vec![told(kind, step, more)]
    }
}

fn told(kind: DeltaKind, step: u32, text: String) -> ReplyEvent {
    match kind {
        DeltaKind::Text => ReplyEvent::Text { step, text },
        DeltaKind::Thought => ReplyEvent::Thought { step, text },
    }
}

/// What stored rows of any turns say, in their order; for clients that come to a conversation later.
pub(crate) fn rows_as_replies(rows: &[Row]) -> Vec<(Role, ReplyEvent)> {
    let mut told = Vec::new();
    for row in rows {
        let step = row.step;
        match &row.body {
            RowBody::Chunk { role, chunk: Chunk::Text { text }, .. } => {
                told.push((*role, ReplyEvent::Text { step, text: text.clone() }));
            }
            RowBody::Chunk { role, chunk: Chunk::Reasoning { text, .. }, .. } if !text.is_empty() => {
                told.push((*role, ReplyEvent::Thought { step, text: text.clone() }));
            }
            RowBody::Chunk { role, chunk: Chunk::ToolCall(call), .. } => {
                told.push((*role, ReplyEvent::Called(call.clone())));
            }
            RowBody::CallEnded { result } => told.push((Role::Tool, ReplyEvent::Ended(result.clone()))),
            RowBody::Steer { text, .. } => told.push((Role::User, ReplyEvent::Text { step, text: text.clone() })),
            RowBody::Marker { text } => told.push((Role::Assistant, ReplyEvent::Text { step, text: text.clone() })),
            _ => {}
        }
    }
    told
}

#[cfg(test)]
mod tests;
