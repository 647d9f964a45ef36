//! Turns what happened in a session into candidates.
//!
//! Pure.

use std::collections::BTreeMap;

use dispatch_hook_module::{Record, RecordType};

use super::candidate::{CandidateKind, CandidateTrigger, MemoryCandidate, joined};
use super::experience::{CommandSimilarity, Experience, ExperienceKind};
use super::relation::relations;
use crate::followup::escape;
use crate::prose::{code_span, sentences};

/// A failure, or a correction that may be none, counts from its second time on.
const REPEATED: usize = 2;

/// The candidates of one session. `relative` gives a path below the workspace.
#[must_use]
pub(crate) fn derive(
    experiences: &[Experience],
    records: &[Record],
    relative: &dyn Fn(&str) -> Option<String>,
) -> Vec<MemoryCandidate> {
    let places = EvidenceIndex::of(records);
    let mut sure = Vec::new();
    let mut unsure = Vec::new();
    for experience in experiences {
        let Some(evidence) = places.evidence(experience) else {
            continue;
        };
        let list = if is_sure(&experience.what) { &mut sure } else { &mut unsure };
        list.extend(candidate(&experience.what, evidence));
    }
    let repeated = joined(unsure).into_iter().filter(|candidate| candidate.count >= REPEATED);
    sure.extend(repeated);
    sure.extend(relations(records, relative));
    joined(sure)
}

/// Which record of the log shows an experience.
struct EvidenceIndex<'a>(BTreeMap<(&'a str, Option<&'a str>), &'a str>);

impl<'a> EvidenceIndex<'a> {
    fn of(records: &'a [Record]) -> Self {
        let mut places = BTreeMap::new();
        for record in records {
            if matches!(record.kind, RecordType::Prompt | RecordType::ToolResult) {
                let call = record.data.get("toolUseId").and_then(serde_json::Value::as_str);
                places.insert((record.hook_run_id.as_str(), call), record.id.as_str());
            }
        }
        Self(places)
    }

    /// Nothing once the log has moved on; what was found earlier is in the file of candidates then.
    fn evidence<'b>(&'b self, experience: &'b Experience) -> Option<&'b str> {
        match &experience.what {
            ExperienceKind::Denial { record, .. } => Some(record),
            _ => self.0.get(&(experience.hook_run_id.as_str(), experience.tool_use_id.as_deref())).copied(),
        }
    }
}

fn is_sure(what: &ExperienceKind) -> bool {
    !matches!(
        what,
        ExperienceKind::Failure { .. } | ExperienceKind::Correction { likeness: CommandSimilarity::Loose, .. }
    )
}

fn candidate(what: &ExperienceKind, evidence: &str) -> Option<MemoryCandidate> {
    match what {
        ExperienceKind::Preference { text } => {
            let words: Vec<String> = sentences(text).iter().flat_map(|sentence| sentence.words().to_vec()).collect();
            let subject = words.join(" ");
            Some(MemoryCandidate::new(CandidateKind::Preference, &[&subject], text, evidence))
        }
        ExperienceKind::Correction {
            from,
            to,
            likeness: CommandSimilarity::Close | CommandSimilarity::Loose,
            program,
        } if from != to => {
            let text = format!("{} failed; {} worked in its place.", code_span(from), code_span(to));
            let trigger =
                CandidateTrigger { command: Some(command_pattern(program, from)), ..CandidateTrigger::default() };
            Some(MemoryCandidate::new(CandidateKind::Correction, &[from, to], &text, evidence).at(trigger))
        }
        ExperienceKind::Denial { tool, code, reason, .. } => {
            let text = format!("A call of {tool} was refused ({code}): {reason}");
            let trigger = CandidateTrigger { tools: vec![tool.clone()], ..CandidateTrigger::default() };
            Some(MemoryCandidate::new(CandidateKind::Hazard, &["denial", code, tool], &text, evidence).at(trigger))
        }
        ExperienceKind::Failure { tool, program, command, error } => {
            // A file's name says little about the next file; the tool and the error do.
            let is_command = program != command || !program.starts_with(tool.as_str());
            let subject = if is_command { program } else { tool };
            let text = format!("{} keeps failing: {error}", code_span(subject));
            let trigger = CandidateTrigger {
                tools: vec![tool.clone()],
                command: is_command.then(|| program_pattern(program)),
                ..CandidateTrigger::default()
            };
            Some(MemoryCandidate::new(CandidateKind::Hazard, &["failure", subject, error], &text, evidence).at(trigger))
        }
        ExperienceKind::Correction { .. } | ExperienceKind::Prompt { .. } => None,
    }
}

/// Matches commands that call the program.
fn program_pattern(program: &str) -> String {
    format!(r"(?:^|[\s;&|(/]){}(?:\s|$)", escape(program))
}

/// Matches commands that call the program with the first word of the one that failed.
fn command_pattern(program: &str, from: &str) -> String {
    let after = from.split_whitespace().skip_while(|word| !word.ends_with(program)).skip(1);
    let first = after.take_while(|word| !word.starts_with(['|', '&', ';', '>'])).find(|word| !word.starts_with('-'));
    match first {
        Some(word) => format!(r"(?:^|[\s;&|(/]){}\s(?:.*\s)?{}(?:\s|$)", escape(program), escape(word)),
        None => program_pattern(program),
    }
}
