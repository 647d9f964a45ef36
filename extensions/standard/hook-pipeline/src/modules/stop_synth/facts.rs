//! What a session's log says: what was asked, what was changed for which intent, what is still open.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::{Context, Record, RecordType};
use serde_json::Value;

use super::denials::{DeniedCall, denials};
use super::failures::{CommandFailure, failures};
use super::plan::PlanSummary;
use crate::call_outcomes::{CallOutcomes, changed_paths, text};
use crate::memory::{Experience, is_of_the_project};

/// The most prompts whose whole text is read.
const MAX_PROMPTS: usize = 500;

/// Everything that the files of the module are made of.
pub(super) struct SessionFacts<'a> {
    pub(super) session_id: &'a str,
    pub(super) records: &'a [Record],
    pub(super) asked: Vec<AskedPrompt<'a>>,
    pub(super) changes: Vec<FileChange<'a>>,
    pub(super) failures: Vec<CommandFailure>,
    pub(super) denials: Vec<DeniedCall>,
    pub(super) plan: Option<PlanSummary>,
    pub(super) unmet: BTreeSet<String>,
    pub(super) blocked: bool,
}

/// A prompt.
pub(super) struct AskedPrompt<'a> {
    pub(super) record: &'a Record,
    /// Nothing where only hashes are kept.
    pub(super) text: Option<String>,
}

/// A file that was changed by one call.
pub(super) struct FileChange<'a> {
    pub(super) record: &'a Record,
    /// Below the workspace, or absolute.
    pub(super) path: String,
    pub(super) access: &'a str,
    pub(super) intent: Option<&'a str>,
}

impl<'a> SessionFacts<'a> {
    /// Reads the log, the plan and the journal.
    pub(super) fn of(ctx: &Context<'a>, experiences: &[Experience]) -> Self {
        let records = ctx.session.history();
        Self {
            session_id: &ctx.ids.session_id,
            records,
            asked: asked(ctx, records),
            changes: changes(ctx, records),
            failures: failures(records, experiences),
            denials: denials(records),
            plan: PlanSummary::of(ctx),
            unmet: unmet(ctx, records),
            blocked: ctx.phase() == Phase::Blocked,
        }
    }

    /// What was asked in a turn.
    pub(super) fn asked_in(&self, turn_id: u64) -> Option<&str> {
        self.asked.iter().rev().find(|asked| asked.record.turn_id == turn_id)?.text.as_deref()
    }
}

/// The prompts. A record has the beginning of the text only; the whole of it is beside the log.
fn asked<'a>(ctx: &Context<'a>, records: &'a [Record]) -> Vec<AskedPrompt<'a>> {
    let lines = ctx.session.prompts(MAX_PROMPTS);
    let kept: BTreeMap<&str, &str> =
        lines.iter().filter_map(|line| Some((text(line, "hookRunId")?, text(line, "text")?))).collect();
    let prompts = records.iter().filter(|record| record.kind == RecordType::Prompt);
    let asked = |record: &'a Record| {
        let whole = kept.get(record.hook_run_id.as_str()).copied();
        AskedPrompt { record, text: whole.or_else(|| text(&record.data, "text")).map(str::to_owned) }
    };
    prompts.map(asked).collect()
}

fn changes<'a>(ctx: &Context<'a>, records: &'a [Record]) -> Vec<FileChange<'a>> {
    let outcomes = CallOutcomes::of(records);
    let mut intent = None;
    let mut found = Vec::new();
    for record in records {
        match record.kind {
            RecordType::IntentSelected => intent = intent_of(&record.data),
            RecordType::IntentCleared => intent = None,
            RecordType::ToolCall if outcomes.was_done(record) => {
                for (path, access) in changed_paths(&record.data) {
                    let path = ctx.paths.repo_relative(Path::new(path)).unwrap_or_else(|| path.to_owned());
                    if is_of_the_project(&path) {
                        found.push(FileChange { record, path, access, intent });
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn intent_of(data: &Value) -> Option<&str> {
    ["intent", "intentId", "id"].into_iter().find_map(|name| text(data, name))
}

/// Requirements of this work that were raised and not met since.
fn unmet(ctx: &Context<'_>, records: &[Record]) -> BTreeSet<String> {
    let mut open = BTreeSet::new();
    for record in records.iter().filter(|record| record.work_id == ctx.ids.work_id) {
        let Some(rule) = text(&record.data, "rule") else { continue };
        match record.kind {
            RecordType::RlmRequired => drop(open.insert(rule.to_owned())),
            RecordType::RlmSatisfied => drop(open.remove(rule)),
            _ => {}
        }
    }
    open
}
