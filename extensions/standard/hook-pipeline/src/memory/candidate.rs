//! Something worth remembering, and the join that makes one list of many in any order.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use dispatch_hook_module::digest::short_key;
use serde::{Deserialize, Serialize};

use crate::prose::shorten;

/// The most candidates that a file holds.
pub(super) const MAX_CANDIDATES: usize = 50;
/// The most evidence one candidate keeps, the newest; its count goes no further.
pub(super) const MAX_EVIDENCE: usize = 32;
/// The largest file of candidates that is read.
pub const CANDIDATES_LIMIT_BYTES: u64 = 512 * 1024;
const MAX_TEXT_CHARS: usize = 400;
const MAX_EVIDENCE_BYTES: usize = 64;
const ID_PREFIX: &str = "mem-";
const ID_DIGITS: usize = 10;

/// What a candidate is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CandidateKind {
    /// A command that failed and the one that worked in its place.
    Correction,
    /// Something the user wants to be so from now on.
    Preference,
    /// Something that is refused or keeps failing.
    Hazard,
    /// Files that change together.
    Relation,
}

impl CandidateKind {
    /// The word in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Correction => "correction",
            Self::Preference => "preference",
            Self::Hazard => "hazard",
            Self::Relation => "relation",
        }
    }

    /// What much evidence of this kind is worth, in thousandths: the user's own words most, coincidence least.
    fn weight(self) -> u32 {
        match self {
            Self::Preference => 900,
            Self::Correction => 700,
            Self::Hazard => 600,
            Self::Relation => 500,
        }
    }
}

/// The calls at which a candidate matters.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CandidateTrigger {
    /// Tools by the host's name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// A regular expression for the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Patterns of paths below the workspace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

impl CandidateTrigger {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Something worth remembering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryCandidate {
    /// Made of what it is about, so every session finds the same one.
    pub id: String,
    /// What it is about.
    pub kind: CandidateKind,
    /// One sentence.
    pub text: String,
    /// The records that show it, oldest first.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// How often it was seen, up to the most evidence that is kept.
    #[serde(default)]
    pub count: usize,
    /// From 0 to 1, by kind and count alone.
    #[serde(default)]
    pub score: f64,
    /// The calls at which it matters; nothing for any.
    #[serde(default, skip_serializing_if = "CandidateTrigger::is_empty")]
    pub trigger: CandidateTrigger,
}

impl MemoryCandidate {
    /// A candidate with its first evidence. `subject` is what makes it itself; `text` only tells it.
    #[must_use]
    pub fn new(kind: CandidateKind, subject: &[&str], text: &str, evidence: &str) -> Self {
        let mut parts = vec![kind.as_str().as_bytes()];
        parts.extend(subject.iter().map(|part| part.as_bytes()));
        let mut digest = short_key(&parts);
        digest.truncate(ID_DIGITS);
        let candidate = Self {
            id: format!("{ID_PREFIX}{digest}"),
            kind,
            text: text.to_owned(),
            evidence: vec![evidence.to_owned()],
            count: 0,
            score: 0.0,
            trigger: CandidateTrigger::default(),
        };
        candidate.normal()
    }

    /// At these calls.
    #[must_use]
    pub fn at(mut self, trigger: CandidateTrigger) -> Self {
        self.trigger = trigger;
        self
    }

    /// The same in the one form that counts: bounded, sorted, with count and score of its evidence.
    fn normal(mut self) -> Self {
        let kept: BTreeSet<String> = std::mem::take(&mut self.evidence)
            .into_iter()
            .filter(|id| !id.is_empty() && id.len() <= MAX_EVIDENCE_BYTES)
            .collect();
        let surplus = kept.len().saturating_sub(MAX_EVIDENCE);
        self.evidence = kept.into_iter().skip(surplus).collect();
        self.count = self.evidence.len();
        self.score = score(self.kind, self.count);
        self.text = shorten(&self.text, MAX_TEXT_CHARS);
        self
    }

    /// Both of what two sessions know of one candidate.
    fn join(mut self, other: Self) -> Self {
        self.kind = self.kind.min(other.kind);
        self.text = self.text.min(other.text);
        self.trigger = self.trigger.min(other.trigger);
        self.evidence.extend(other.evidence);
        self.normal()
    }
}

/// One list of many, best first. In whatever order and however often the same ones are joined, the result is the same.
#[must_use]
pub(crate) fn merge(candidates: impl IntoIterator<Item = MemoryCandidate>) -> Vec<MemoryCandidate> {
    let mut merged = joined(candidates);
    merged.truncate(MAX_CANDIDATES);
    merged
}

/// The same without the bound.
pub(super) fn joined(candidates: impl IntoIterator<Item = MemoryCandidate>) -> Vec<MemoryCandidate> {
    let mut by_id: BTreeMap<String, MemoryCandidate> = BTreeMap::new();
    for candidate in candidates {
        let candidate = candidate.normal();
        if !is_candidate_id(&candidate.id) || candidate.evidence.is_empty() || candidate.text.is_empty() {
            continue;
        }
        let known = by_id.remove(&candidate.id);
        let both = known.map_or_else(|| candidate.clone(), |known| known.join(candidate.clone()));
        by_id.insert(both.id.clone(), both);
    }
    let mut all: Vec<MemoryCandidate> = by_id.into_values().collect();
    all.sort_by(|left, right| right.score.total_cmp(&left.score).then_with(|| left.id.cmp(&right.id)));
    all
}

/// The candidates in a file; other entries are left out.
#[must_use]
pub(crate) fn parse_candidates(bytes: &[u8]) -> Vec<MemoryCandidate> {
    let entries: Vec<serde_json::Value> = serde_json::from_slice(bytes).unwrap_or_default();
    let found = entries.into_iter().filter_map(|entry| MemoryCandidate::deserialize(entry).ok());
    merge(found)
}

/// The content of a file of candidates.
#[must_use]
pub(crate) fn write_candidates(candidates: &[MemoryCandidate]) -> String {
    let text = serde_json::to_string_pretty(candidates).unwrap_or_else(|_| "[]".to_owned());
    text + "\n"
}

fn is_candidate_id(id: &str) -> bool {
    let digits = id.strip_prefix(ID_PREFIX).unwrap_or_default();
    digits.len() == ID_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// In thousandths and then divided, so that every machine writes the same digits.
fn score(kind: CandidateKind, count: usize) -> f64 {
    let count = u32::try_from(count).unwrap_or(u32::MAX).min(1_000);
    f64::from(kind.weight() * count / (count + 1)) / 1_000.0
}
