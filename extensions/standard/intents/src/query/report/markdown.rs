//! The intents of a change as Markdown, for the summary of a pull request.
//!
//! Pure.

use crate::intent::IntentSpec;
use crate::query::summary::{ActivitySummary, LedgerSummary, RecordedEscape};

/// The most files of an intent that are named.
const MAX_FILES: usize = 10;
/// The most changes out of scope, newest.
const MAX_ESCAPES: usize = 20;

/// One table with a row per intent, the changes out of scope, and the problems of the ledger.
#[must_use]
pub(crate) fn markdown(summary: &LedgerSummary, intents: &[IntentSpec], problems: &[String]) -> String {
    let mut text = "## Intents\n\n".to_owned();
    if summary.entries == 0 {
        text.push_str("No entries of agents.\n");
    } else {
        text.push_str("| intent | status | entries | lines added | out of scope | conflicts | files |\n");
        text.push_str("|---|---|--:|--:|--:|--:|---|\n");
        summary.intents.iter().for_each(|(id, found)| text.push_str(&row(id, found, intents)));
    }
    if !summary.escapes.is_empty() {
        text.push_str(&format!("\n### Out of scope: {}\n\n", summary.escape_count));
        summary.escapes.iter().rev().take(MAX_ESCAPES).for_each(|found| text.push_str(&escape(found)));
    }
    text.push_str(&match problems {
        [] => "\nThe ledger is verified.\n".to_owned(),
        problems => {
            let items: String =
                problems.iter().take(MAX_ESCAPES).map(|problem| format!("- {}\n", plain(problem))).collect();
            format!("\n### The ledger has {} problems\n\n{items}", problems.len())
        }
    });
    text
}

fn row(id: &str, found: &ActivitySummary, intents: &[IntentSpec]) -> String {
    let declared = intents.iter().find(|intent| intent.id == id);
    let name = match declared {
        Some(intent) => format!("{} {}", plain(id), plain(&intent.name)),
        None if id.is_empty() => "(no intent)".to_owned(),
        None => format!("{} (no longer declared)", plain(id)),
    };
    let files: Vec<String> = found.others.iter().take(MAX_FILES).map(|path| format!("`{}`", plain(path))).collect();
    let more = found.others.len().saturating_sub(MAX_FILES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!(
        "| {name} | {} | {} | {} | {} | {} | {}{more} |\n",
        declared.map_or("", |intent| intent.status.as_str()),
        found.entries,
        found.added_lines,
        found.escapes,
        found.conflicts,
        files.join(", ")
    )
}

fn escape(found: &RecordedEscape) -> String {
    let entry = &found.entry;
    let whose = if entry.intent_id.is_empty() { "no intent" } else { &entry.intent_id };
    let path = entry.path().unwrap_or("(not determined)");
    format!("- `{}` by {} ({})\n", plain(path), plain(&entry.tool_name), plain(whose))
}

/// Text that cannot become markup: a table, a link, HTML or a mention.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '|' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '\\' | '@' | '#' | '!' => {
                safe.push_str(&format!("&#{};", u32::from(character)));
            }
            '&' => safe.push_str("&amp;"),
            control if control.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::samples;
    use crate::trace_entry::ScopeValidation;

    #[test]
    fn each_intent_has_a_row_and_names_are_no_markup() {
        let mut outside = samples::entry(1, "a|<b>.rs");
        outside.scope_validation = ScopeValidation::Fail;
        let mut summary = LedgerSummary::default();
        summary.add(1, outside);
        summary.add(2, samples::entry(2, "src/c.rs"));
        let text = markdown(&summary, &[], &["line 3: edited".to_owned()]);
        assert_eq!(text.matches("no longer declared").count(), summary.intents.len(), "{text}");
        assert!(text.contains("a&#124;&#60;b&#62;.rs") && !text.contains("<b>"), "{text}");
        assert!(text.contains("### Out of scope: 1") && text.contains("has 1 problems"), "{text}");
        assert!(markdown(&LedgerSummary::default(), &[], &[]).contains("No entries"));
    }
}
