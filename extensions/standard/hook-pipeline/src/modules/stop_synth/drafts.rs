//! Which decisions a session made, as far as its facts show them.
//!
//! Pure.

use std::collections::BTreeMap;

use dispatch_hook_module::digest::short_key;
use dispatch_hook_module::{Record, RecordType};

use super::decision::decisions;
use super::facts::{FileChange, SessionFacts};
use super::path_rules::PathRules;
use super::plan::{PlanSummary, decision};
use crate::call_outcomes::text;
use crate::plan::{NodeStatus, PlanNode};
use crate::prose::{code_span, shorten};

/// The most drafts of one session.
const MAX_DRAFTS: usize = 50;
const MAX_SLUG_CHARS: usize = 48;
const TITLE_CHARS: usize = 100;
const ASKED_CHARS: usize = 200;
const DECISION_CHARS: usize = 400;
const MAX_LINES: usize = 20;
const TO_CONFIRM: &str = "To be confirmed before this is accepted.";

/// A decision to be written down.
pub(super) struct AdrDraft<'a> {
    /// What tells it from the others, and names its file.
    pub(super) slug: String,
    pub(super) title: String,
    pub(super) context: Vec<String>,
    pub(super) decision: String,
    pub(super) consequences: Vec<String>,
    /// The records that show it, oldest first.
    pub(super) evidence: Vec<&'a Record>,
}

/// All drafts in the order of their first evidence.
pub(super) fn drafts<'a>(facts: &SessionFacts<'a>, rules: &PathRules) -> Vec<AdrDraft<'a>> {
    let manifests = grouped(facts, |path| rules.manifest(path).map(|name| format!("Dependencies in {name}")));
    let interfaces = grouped(facts, |path| rules.interface(path).map(|name| format!("Change of {name}")));
    let mut found: Vec<AdrDraft<'a>> = plan_drafts(facts);
    found.extend(manifests.into_iter().map(|(title, changes)| {
        change_draft(facts, &title, &changes, "Which dependencies are added, removed or moved, and why.")
    }));
    found.extend(interfaces.into_iter().map(|(title, changes)| {
        change_draft(facts, &title, &changes, "What changes for those who rely on it, and why.")
    }));
    found.extend(prompt_drafts(facts));
    let place = |draft: &AdrDraft<'_>| {
        draft.evidence.first().map(|first| facts.records.iter().position(|record| record.id == first.id))
    };
    found.sort_by_cached_key(|draft| (place(draft), draft.slug.clone()));
    found.truncate(MAX_DRAFTS);
    found
}

/// Words in lower case with `-` between them; a short hash where nothing is left.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    let words = title.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    for word in words.map(str::to_ascii_lowercase) {
        let between = usize::from(!slug.is_empty());
        if slug.len() + between + word.len() > MAX_SLUG_CHARS {
            break;
        }
        if between == 1 {
            slug.push('-');
        }
        slug.push_str(&word);
    }
    if slug.is_empty() { format!("decision-{}", short_key(&[title.as_bytes()])) } else { slug }
}

fn grouped<'f, 'a>(
    facts: &'f SessionFacts<'a>,
    title: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, Vec<&'f FileChange<'a>>> {
    let mut groups: BTreeMap<String, Vec<&FileChange<'a>>> = BTreeMap::new();
    for change in &facts.changes {
        if let Some(title) = title(&change.path) {
            groups.entry(title).or_default().push(change);
        }
    }
    groups
}

fn change_draft<'a>(
    facts: &SessionFacts<'a>,
    title: &str,
    changes: &[&FileChange<'a>],
    question: &str,
) -> AdrDraft<'a> {
    let mut turns: Vec<u64> = changes.iter().map(|change| change.record.turn_id).collect();
    turns.dedup();
    let asked = turns.iter().filter_map(|turn| facts.asked_in(*turn));
    let mut context: Vec<String> =
        asked.take(MAX_LINES).map(|text| format!("Asked: {}", shorten(text, ASKED_CHARS))).collect();
    let mut paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    context.extend(paths.iter().take(MAX_LINES).map(|path| format!("Changed: {}", code_span(path))));
    let mut evidence: Vec<&Record> = changes.iter().map(|change| change.record).collect();
    evidence.dedup_by_key(|record| &record.id);
    AdrDraft {
        slug: slug(title),
        title: shorten(title, TITLE_CHARS),
        context,
        decision: format!("To be written: {question}"),
        consequences: vec![TO_CONFIRM.to_owned()],
        evidence,
    }
}

fn plan_drafts<'a>(facts: &SessionFacts<'a>) -> Vec<AdrDraft<'a>> {
    let nodes = facts.plan.iter().flat_map(PlanSummary::nodes);
    nodes.filter_map(|(node, status)| plan_draft(facts.records, node, status)).collect()
}

/// A plan that was not accepted decides nothing.
fn plan_draft<'a>(records: &'a [Record], node: &PlanNode, status: NodeStatus) -> Option<AdrDraft<'a>> {
    let decision = decision(node)?;
    let about = |record: &&Record| match record.kind {
        RecordType::PlanAccepted => true,
        RecordType::PlanNodeStarted | RecordType::PlanNodeCompleted | RecordType::PlanNodeFailed => {
            text(&record.data, "node") == Some(&node.id)
        }
        _ => false,
    };
    let evidence: Vec<&'a Record> = records.iter().filter(about).collect();
    let shown = |item: &String| code_span(&shorten(item, TITLE_CHARS));
    let head = format!("Node {} of the plan, {}.", shown(&node.id), status.as_str());
    let scope = node.scope.iter().take(MAX_LINES).map(|pattern| format!("Scope: {}", shown(pattern)));
    let checks = node.validations.iter().take(MAX_LINES).map(|command| format!("Checked by {}.", shown(command)));
    (!evidence.is_empty()).then(|| AdrDraft {
        slug: slug(&format!("plan {} {}", node.id, node.title)),
        title: shorten(&node.title, TITLE_CHARS),
        context: [head].into_iter().chain(scope).collect(),
        decision: shorten(decision, DECISION_CHARS),
        consequences: checks.chain([TO_CONFIRM.to_owned()]).collect(),
        evidence,
    })
}

/// A decision that is stated twice in the same words is one.
fn prompt_drafts<'a>(facts: &SessionFacts<'a>) -> Vec<AdrDraft<'a>> {
    let mut found: Vec<AdrDraft<'a>> = Vec::new();
    for asked in &facts.asked {
        let text = asked.text.as_deref().unwrap_or_default();
        for sentence in decisions(text) {
            let slug = slug(&sentence);
            if let Some(known) = found.iter_mut().find(|draft| draft.slug == slug) {
                known.evidence.push(asked.record);
                continue;
            }
            let title = shorten(sentence.trim_end_matches(['.', '!']), TITLE_CHARS);
            found.push(AdrDraft {
                slug,
                title,
                context: vec![format!("Stated by the user: {}", shorten(text, ASKED_CHARS))],
                decision: shorten(&sentence, DECISION_CHARS),
                consequences: vec![TO_CONFIRM.to_owned()],
                evidence: vec![asked.record],
            });
        }
    }
    found
}
