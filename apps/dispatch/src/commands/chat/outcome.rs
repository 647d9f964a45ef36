//! The report of one message, put together from the rows of its turn.

use crate::printer::Printer;
use dispatch_contracts::conversation::{Chunk, ResultStatus, Role, Row, RowBody};
use dispatch_contracts::ids::{CallId, TurnId};
use dispatch_contracts::provider::Usage;
use dispatch_contracts::turn::TurnEnd;
use ext_session_orchestrator::contract::{DispatchState, DispatchView};
use serde::Serialize;

/// One message's turn, as scripts read it.
#[derive(Debug, Serialize)]
pub(super) struct TurnReport {
    session: String,
    turn: Option<TurnId>,
    status: &'static str,
    text: String,
    tool_calls: Vec<ReportedCall>,
    usage: Usage,
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(skip)]
    rows: Vec<Row>,
    #[serde(skip)]
    over: bool,
}

#[derive(Debug, Serialize)]
struct ReportedCall {
    id: CallId,
    name: String,
    status: Option<ResultStatus>,
}

impl TurnReport {
    pub(super) fn new(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            turn: None,
            status: "pending",
            text: String::new(),
            tool_calls: Vec::new(),
            usage: Usage::default(),
            reason: String::new(),
            rows: Vec::new(),
            over: false,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.status == "finished"
    }

    /// Whether the dispatch needs nothing more.
    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// Whether the end of the dispatch's turn was seen; a dispatch that no turn took has none.
    pub(super) fn has_end_of(&self, dispatch: &DispatchView) -> bool {
        let Some(turn) = &dispatch.turn else { return true };
        self.rows.iter().any(|row| row.turn == *turn && matches!(row.body, RowBody::TurnEnded { .. }))
    }

    /// Takes a row of the session; those of other turns are left out in the end.
    pub(super) fn add(&mut self, row: &Row) {
        self.rows.push(row.clone());
    }

    /// Takes the dispatch as it stands now.
    pub(super) fn note(&mut self, dispatch: &DispatchView) {
        if self.over {
            return;
        }
        self.turn.clone_from(&dispatch.turn);
        self.reason.clone_from(&dispatch.reason);
        self.status = match dispatch.state {
            DispatchState::Done => "interrupted",
            other => other.word(),
        };
        self.over = dispatch.state.is_over();
        if self.over {
            for row in std::mem::take(&mut self.rows) {
                if Some(&row.turn) == self.turn.as_ref() {
                    self.read(row);
                }
            }
        }
    }

    fn read(&mut self, row: Row) {
        match row.body {
            RowBody::Chunk { role: Role::Assistant, chunk, .. } => match chunk {
                Chunk::Text { text } => self.text.push_str(&text),
                Chunk::ToolCall(call) => {
                    // What is said after a call is the answer; what was said before it was on the way.
                    self.text.clear();
                    self.tool_calls.push(ReportedCall { id: call.id, name: call.name, status: None });
                }
                _ => {}
            },
            RowBody::CallEnded { result } => {
                let call = self.tool_calls.iter_mut().find(|call| call.id == result.call);
                if let Some(call) = call {
                    call.status = Some(result.status);
                }
            }
            RowBody::StepEnded { usage, .. } => self.usage.add(usage),
            RowBody::TurnEnded { end } => self.status = word(&end),
            _ => {}
        }
    }

    /// Tells a person what the text does not.
    pub(super) fn tell(&self, printer: &Printer) {
        if !self.is_finished() {
            let reason = if self.reason.is_empty() { self.status } else { &self.reason };
            printer.warn(reason);
        }
    }
}

fn word(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::Finished => "finished",
        TurnEnd::Cancelled => "cancelled",
        TurnEnd::LimitReached { .. } => "limit_reached",
        TurnEnd::ProviderFailed { .. } => "provider_failed",
        TurnEnd::StoreFailed { .. } => "store_failed",
        TurnEnd::Faulted { .. } => "faulted",
    }
}
