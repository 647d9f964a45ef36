//! Finds files that change together again and again.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use dispatch_hook_module::{Record, RecordType};

use super::candidate::{CandidateKind, CandidateTrigger, MemoryCandidate};
use crate::call_outcomes::{CallOutcomes, changed_paths};
use crate::followup::literal_pattern;
use crate::prose::code_span;

/// A turn that changes more files than this says nothing about any two of them.
const MAX_FILES_PER_TURN: usize = 12;
/// In so many turns two files have to change together.
const MIN_TURNS: usize = 2;

/// A candidate for every two files that changed together in several turns; one record of each turn is evidence.
pub(super) fn relations(records: &[Record], relative: &dyn Fn(&str) -> Option<String>) -> Vec<MemoryCandidate> {
    let mut turns: BTreeMap<u64, BTreeMap<String, &str>> = BTreeMap::new();
    let outcomes = CallOutcomes::of(records);
    for record in records.iter().filter(|record| record.kind == RecordType::ToolCall && outcomes.was_done(record)) {
        let paths = changed_paths(&record.data).filter_map(|(path, _)| relative(path));
        for path in paths.filter(|path| is_of_the_project(path)) {
            turns.entry(record.turn_id).or_default().entry(path).or_insert(&record.id);
        }
    }
    let mut pairs: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for files in turns.values().filter(|files| files.len() <= MAX_FILES_PER_TURN) {
        for (left, left_record) in files {
            for (right, right_record) in files.range::<str, _>((after(left), std::ops::Bound::Unbounded)) {
                let evidence = *left_record.max(right_record);
                pairs.entry((left.clone(), right.clone())).or_default().insert(evidence);
            }
        }
    }
    pairs.retain(|_, evidence| evidence.len() >= MIN_TURNS);
    pairs.into_iter().flat_map(|((left, right), evidence)| candidates(&left, &right, &evidence)).collect()
}

/// Files that the pipeline itself writes are not part of the session's work.
pub(crate) fn is_of_the_project(path: &str) -> bool {
    !path.is_empty() && !path.starts_with(".ai/tmp/")
}

fn after(path: &str) -> std::ops::Bound<&str> {
    std::ops::Bound::Excluded(path)
}

fn candidates(left: &str, right: &str, evidence: &BTreeSet<&str>) -> Vec<MemoryCandidate> {
    let text = format!("{} and {} change together.", code_span(left), code_span(right));
    let trigger =
        CandidateTrigger { paths: vec![literal_pattern(left), literal_pattern(right)], ..CandidateTrigger::default() };
    let one = |record: &&str| {
        MemoryCandidate::new(CandidateKind::Relation, &[left, right], &text, record).at(trigger.clone())
    };
    evidence.iter().map(one).collect()
}
