//! The commands that failed and how each ended.
//!
//! Pure.

use std::collections::BTreeMap;

use dispatch_hook_module::{Record, RecordType};
use serde_json::Value;

use crate::call_outcomes::text;
use crate::memory::{CommandSimilarity, Experience, ExperienceKind};

/// A command that failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandFailure {
    /// The command where the journal has it, else the tool.
    pub(super) what: String,
    /// What was said about it first.
    pub(super) error: String,
    pub(super) count: usize,
    pub(super) end: FailureEnd,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailureEnd {
    /// The same command worked later.
    Worked,
    /// Another command worked in its place.
    Corrected(String),
    /// Another command of the same program worked.
    Followed(String),
    /// Nothing that worked came after it.
    Open,
}

/// In the order in which they first failed.
pub(super) fn failures(records: &[Record], experiences: &[Experience]) -> Vec<CommandFailure> {
    let hashes = command_hashes(records);
    let mut groups: Vec<(Option<&str>, CommandFailure)> = Vec::new();
    for record in records.iter().filter(|record| is_command_result(record)) {
        let hash = text(&record.data, "toolUseId").and_then(|call| hashes.get(call).copied());
        let known = groups.iter_mut().find(|(known, _)| hash.is_some() && *known == hash).map(|(_, failure)| failure);
        let ok = record.data.get("ok").and_then(Value::as_bool) != Some(false);
        match (ok, known) {
            (true, Some(failure)) => failure.end = FailureEnd::Worked,
            (true, None) => {}
            (false, Some(failure)) => {
                failure.count += 1;
                failure.end = FailureEnd::Open;
            }
            (false, None) => groups.push((hash, first_failure(record, experiences))),
        }
    }
    let mut failures: Vec<CommandFailure> = groups.into_iter().map(|(_, failure)| failure).collect();
    for failure in failures.iter_mut().filter(|failure| failure.end == FailureEnd::Open) {
        failure.end = end_in_journal(&failure.what, experiences);
    }
    failures
}

fn command_hashes(records: &[Record]) -> BTreeMap<&str, &str> {
    let calls = records.iter().filter(|record| record.kind == RecordType::ToolCall);
    calls.filter_map(|record| Some((text(&record.data, "toolUseId")?, text(&record.data, "commandHash")?))).collect()
}

fn is_command_result(record: &Record) -> bool {
    record.kind == RecordType::ToolResult && text(&record.data, "kind") == Some("execute")
}

fn first_failure(record: &Record, experiences: &[Experience]) -> CommandFailure {
    let call = text(&record.data, "toolUseId");
    let same = |line: &&Experience| line.hook_run_id == record.hook_run_id && line.tool_use_id.as_deref() == call;
    let told = experiences.iter().filter(same).find_map(|line| match &line.what {
        ExperienceKind::Failure { command, .. } => Some(command.clone()),
        _ => None,
    });
    CommandFailure {
        what: told.unwrap_or_else(|| text(&record.data, "tool").unwrap_or("a command").to_owned()),
        error: text(&record.data, "error").unwrap_or("failed").to_owned(),
        count: 1,
        end: FailureEnd::Open,
    }
}

/// The last word of the journal about a command.
fn end_in_journal(command: &str, experiences: &[Experience]) -> FailureEnd {
    let ends = experiences.iter().rev().find_map(|line| match &line.what {
        ExperienceKind::Correction { from, to, likeness, .. } if from == command => Some(match likeness {
            CommandSimilarity::Same => FailureEnd::Worked,
            CommandSimilarity::Close => FailureEnd::Corrected(to.clone()),
            CommandSimilarity::Loose => FailureEnd::Followed(to.clone()),
        }),
        ExperienceKind::Failure { command: failed, .. } if failed == command => Some(FailureEnd::Open),
        _ => None,
    });
    ends.unwrap_or(FailureEnd::Open)
}
