//! The summary as Markdown: equal facts give equal text.
//!
//! Pure.

use std::collections::BTreeMap;

use super::facts::SessionFacts;
use super::failures::{CommandFailure, FailureEnd};
use super::plan::PlanSummary;
use crate::plan::NodeStatus;
use crate::prose::{code_span, shorten};

const TEXT_CHARS: usize = 200;
/// The most entries of one section.
const MAX_ENTRIES: usize = 100;
const NO_INTENT: &str = "No intent";

/// The summary of a session.
pub(super) fn render(facts: &SessionFacts<'_>) -> String {
    let mut out = format!("# Summary of session {}\n", facts.session_id);
    section(&mut out, "Asked", asked(facts));
    section(&mut out, "Done", done(facts));
    section(&mut out, "Commands that failed", facts.failures.iter().map(failure).collect());
    section(&mut out, "Denials", denials(facts));
    section(&mut out, "Plan progress", facts.plan.as_ref().map(progress).unwrap_or_default());
    section(&mut out, "Open ends", open_ends(facts));
    out
}

fn section(out: &mut String, title: &str, lines: Vec<String>) {
    out.push_str(&format!("\n## {title}\n\n"));
    if lines.is_empty() {
        out.push_str("None.\n");
    }
    let left_out = lines.len().saturating_sub(MAX_ENTRIES);
    for line in lines.into_iter().take(MAX_ENTRIES) {
        out.push_str(&line);
        out.push('\n');
    }
    if left_out > 0 {
        out.push_str(&format!("- and {left_out} more\n"));
    }
}

fn asked(facts: &SessionFacts<'_>) -> Vec<String> {
    let line = |asked: &super::facts::AskedPrompt<'_>| {
        let text = asked.text.as_deref().map_or_else(|| "text not kept".to_owned(), |text| shorten(text, TEXT_CHARS));
        format!("- Turn {}: {text}", asked.record.turn_id)
    };
    facts.asked.iter().map(line).collect()
}

/// Files by intent, in the order of the intents' first change.
fn done(facts: &SessionFacts<'_>) -> Vec<String> {
    let mut intents: Vec<(&str, BTreeMap<&str, Vec<&str>>)> = Vec::new();
    for change in &facts.changes {
        let intent = change.intent.unwrap_or(NO_INTENT);
        let index = intents.iter().position(|(known, _)| *known == intent).unwrap_or_else(|| {
            intents.push((intent, BTreeMap::new()));
            intents.len() - 1
        });
        intents[index].1.entry(&change.path).or_default().push(change.access);
    }
    let mut lines = Vec::new();
    for (intent, files) in intents {
        let changes: usize = files.values().map(Vec::len).sum();
        lines.push(format!(
            "- {}: {}, {}",
            shorten(intent, TEXT_CHARS),
            counted(files.len(), "file"),
            counted(changes, "change")
        ));
        lines.extend(files.iter().map(|(path, accesses)| format!("  - {}: {}", code_span(path), file_line(accesses))));
    }
    lines
}

fn file_line(accesses: &[&str]) -> String {
    let mut parts = vec![counted(accesses.len(), "change")];
    if accesses.contains(&"create") {
        parts.push("created".to_owned());
    }
    if accesses.last() == Some(&"delete") {
        parts.push("deleted".to_owned());
    }
    parts.join(", ")
}

fn failure(failure: &CommandFailure) -> String {
    let end = match &failure.end {
        FailureEnd::Worked => "It worked later.".to_owned(),
        FailureEnd::Corrected(to) => format!("{} worked in its place.", code_span(to)),
        FailureEnd::Followed(to) => format!("Then {} worked.", code_span(to)),
        FailureEnd::Open => "It has not worked since.".to_owned(),
    };
    let what = code_span(&shorten(&failure.what, TEXT_CHARS));
    format!(
        "- {what}, {}: {}. {end}",
        counted(failure.count, "time"),
        shorten(&failure.error, TEXT_CHARS).trim_end_matches('.')
    )
}

fn denials(facts: &SessionFacts<'_>) -> Vec<String> {
    let line = |denial: &super::denials::DeniedCall| {
        let tool = denial.tool.as_deref().unwrap_or("a prompt");
        let (code, reason) = (shorten(&denial.code, TEXT_CHARS), shorten(&denial.reason, TEXT_CHARS));
        format!("- {code}, {tool}, {}: {reason}", counted(denial.count, "time"))
    };
    facts.denials.iter().map(line).collect()
}

fn progress(planned: &PlanSummary) -> Vec<String> {
    let done = planned.nodes().filter(|(_, status)| *status == NodeStatus::Completed).count();
    let head = format!("{done} of {} completed.\n", counted(planned.nodes().count(), "node"));
    let nodes = planned.nodes().map(|(node, status)| {
        let mark = if status == NodeStatus::Completed { "x" } else { " " };
        let (id, title) = (code_span(&shorten(&node.id, TEXT_CHARS)), shorten(&node.title, TEXT_CHARS));
        format!("- [{mark}] {id}: {title} ({})", status.as_str())
    });
    [head].into_iter().chain(nodes).collect()
}

fn open_ends(facts: &SessionFacts<'_>) -> Vec<String> {
    let nodes = facts.plan.iter().flat_map(PlanSummary::nodes).filter(|(_, status)| *status != NodeStatus::Completed);
    let node = |id: &str, status: NodeStatus| {
        format!("- Plan node {} is {}.", code_span(&shorten(id, TEXT_CHARS)), status.as_str())
    };
    let mut lines: Vec<String> = nodes.map(|(found, status)| node(&found.id, status)).collect();
    lines.extend(facts.unmet.iter().map(|rule| format!("- {} is required and not delivered.", code_span(rule))));
    let failing = facts.failures.iter().filter(|failure| failure.end == FailureEnd::Open);
    lines.extend(failing.map(|failure| format!("- {} still fails.", code_span(&shorten(&failure.what, TEXT_CHARS)))));
    if facts.blocked {
        lines.push("- The work is blocked.".to_owned());
    }
    lines
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
