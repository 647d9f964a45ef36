//! What a turn came to, gathered from the rows of its session.

use super::super::child_record::name_below;
use super::super::output::OUTPUT_LIMIT_BYTES;
use crate::contract::Usage;
use dispatch_contracts::conversation::{Chunk, ResultStatus, Role, Row, RowBody, ToolCall as CallRow, ToolResult};
use dispatch_contracts::ids::{CallId, TurnId};
use dispatch_contracts::turn::TurnEnd;
use dispatch_toolcall::{Access, ReportedCall, ToolCall};
use ext_session_orchestrator::contract::{SessionEvent, SessionNews};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How our own tools are told from those of other agents.
const HOST: &str = "dispatch";
/// The most files of one turn that are named.
const MAX_WRITTEN: usize = 10_000;

/// The turns of a session, of which one will be ours.
pub(super) struct TurnTallies {
    folder: PathBuf,
    turns: BTreeMap<TurnId, TurnTally>,
    /// Files that calls are about to change, in whatever turn.
    touched: Vec<String>,
}

impl TurnTallies {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), turns: BTreeMap::new(), touched: Vec::new() }
    }

    pub(super) fn take(&mut self, event: SessionEvent) {
        if let SessionNews::Row { row } = event.news {
            if let RowBody::CallStarted { call, .. } = &row.body {
                self.touched.extend(changed_by(&self.folder, call));
            }
            self.turns.entry(row.turn.clone()).or_default().take(&self.folder, row);
        }
    }

    /// The files that calls were about to change since this was last asked.
    pub(super) fn take_touched(&mut self) -> Vec<String> {
        std::mem::take(&mut self.touched)
    }

    pub(super) fn is_complete(&self, turn: &TurnId) -> bool {
        self.turns.get(turn).is_some_and(|tally| tally.end.is_some())
    }

    pub(super) fn remove(mut self, turn: &TurnId) -> TurnTally {
        self.turns.remove(turn).unwrap_or_default()
    }
}

/// One turn.
#[derive(Default)]
pub(super) struct TurnTally {
    pub(super) end: Option<TurnEnd>,
    /// The step in which the model spoke last, and what it said, by place.
    step: u32,
    said: BTreeMap<(u32, u32), String>,
    said_bytes: usize,
    tokens: u64,
    started: Vec<CallRow>,
    wrote: BTreeSet<String>,
    /// The tools that the model called, by call.
    asked: BTreeMap<CallId, String>,
    /// The tools of calls that were refused, each once.
    refused: Vec<String>,
    /// Whether a call ran, well or badly.
    ran: bool,
}

impl TurnTally {
    /// Whether there were calls and every one of them was refused.
    pub(super) fn was_refused(&self) -> bool {
        !self.ran && !self.refused.is_empty()
    }

    /// The tools that were refused.
    pub(super) fn refused(&self) -> &[String] {
        &self.refused
    }

    /// What the model said last.
    pub(super) fn text(&self) -> String {
        self.said.values().map(String::as_str).collect()
    }

    /// What the model calls cost. Their price is not reported.
    pub(super) fn usage(&self) -> Usage {
        Usage { tokens: self.tokens, micro_usd: 0 }
    }

    /// The files that its tools changed, relative to where the turn worked.
    pub(super) fn wrote(&self) -> Vec<String> {
        self.wrote.iter().cloned().collect()
    }

    fn take(&mut self, folder: &Path, row: Row) {
        match row.body {
            RowBody::Chunk { role: Role::Assistant, index, part, chunk: Chunk::Text { text }, .. } => {
                self.say(row.step, (index, part), text);
            }
            RowBody::Chunk { role: Role::Assistant, chunk: Chunk::ToolCall(call), .. } => {
                self.asked.insert(call.id.clone(), call.name);
            }
            RowBody::CallStarted { call, .. } => self.started.push(call),
            RowBody::CallEnded { result } => {
                self.count(&result);
                let at = self.started.iter().position(|call| call.id == result.call);
                let call = at.map(|at| self.started.swap_remove(at));
                if let Some(call) = call.filter(|_| result.status == ResultStatus::Succeeded) {
                    let room = MAX_WRITTEN.saturating_sub(self.wrote.len());
                    self.wrote.extend(changed_by(folder, &call).into_iter().take(room));
                }
            }
            RowBody::StepEnded { usage, .. } => {
                let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
                self.tokens = self.tokens.saturating_add(tokens);
            }
            RowBody::TurnEnded { end } => self.end = Some(end),
            _ => {}
        }
    }

    /// Whether a call ran or was refused; one that was wrong in itself is neither.
    fn count(&mut self, result: &ToolResult) {
        match result.status {
            ResultStatus::Succeeded | ResultStatus::Failed | ResultStatus::Unknown => self.ran = true,
            ResultStatus::Denied => {
                let tool = self.asked.get(&result.call).cloned().unwrap_or_else(|| "a tool".to_owned());
                if !self.refused.contains(&tool) {
                    self.refused.push(tool);
                }
            }
            ResultStatus::NotRun => {}
        }
    }

    fn say(&mut self, step: u32, place: (u32, u32), text: String) {
        if step > self.step {
            (self.step, self.said_bytes) = (step, 0);
            self.said.clear();
        }
        // Twice the limit is enough to keep both of its ends.
        if step == self.step && self.said_bytes <= 2 * OUTPUT_LIMIT_BYTES {
            self.said_bytes += text.len();
            self.said.insert(place, text);
        }
    }
}

/// The files below a folder that a call changes, relative to it.
fn changed_by(folder: &Path, call: &CallRow) -> Vec<String> {
    let (Some(cwd), input) = (folder.to_str(), Value::Object(call.arguments.clone())) else { return Vec::new() };
    let call = ToolCall::classify(&ReportedCall { host: HOST, tool: &call.name, input: &input, cwd, home: None });
    let changed = call.paths.iter().filter(|path| path.access != Access::Read && !path.glob);
    changed.filter_map(|path| name_below(folder, Path::new(&path.path))).collect()
}
