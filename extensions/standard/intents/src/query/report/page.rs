//! Renders the page of the report.

use super::chart::activity;
use super::escape;
use crate::intent::IntentSpec;
use crate::query::summary::{ActivitySummary, LedgerSummary, MAX_ESCAPES, RecordedEscape};

/// The most files, those with the most entries.
const MAX_FILES: usize = 300;
/// The most intents of a file.
const MAX_NAMED: usize = 4;
const STYLE: &str = include_str!("style.css");

/// The content of a page.
#[derive(Debug)]
pub(crate) struct ReportInput<'a> {
    /// The name of the workspace.
    pub title: &'a str,
    /// A line below the title.
    pub subtitle: &'a str,
    /// The numbers.
    pub summary: &'a LedgerSummary,
    /// The declared intents.
    pub intents: &'a [IntentSpec],
    /// The problems of the verification, as text.
    pub problems: &'a [String],
}

/// The whole page.
#[must_use]
pub(crate) fn render(report: &ReportInput<'_>) -> String {
    let title = escape(report.title);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>Intents of {title}</title><style>{STYLE}</style></head><body><main>\
         <header><h1>Intents of {title}</h1><p class=\"faint\">{}</p></header>{}{}{}{}{}{}</main></body></html>\n",
        escape(report.subtitle),
        tiles(report),
        proof(report.problems),
        over_time(report.summary),
        intents(report),
        escapes(report.summary),
        files(report.summary),
    )
}

fn tiles(report: &ReportInput<'_>) -> String {
    let summary = report.summary;
    let intents = summary.intents.keys().filter(|id| !id.is_empty()).count() as u64;
    let tile = |name: &str, value: u64, class: &str| {
        format!("<div class=\"tile {class}\"><strong>{value}</strong><span>{name}</span></div>")
    };
    let alarm = if summary.escape_count > 0 { "bad" } else { "" };
    let tiles = [
        tile("entries", summary.entries, ""),
        tile("intents with entries", intents, ""),
        tile("files", summary.files.len() as u64, ""),
        tile("sessions", summary.sessions.len() as u64, ""),
        tile("escapes", summary.escape_count, alarm),
    ];
    format!("<section class=\"tiles\">{}</section>", tiles.concat())
}

fn proof(problems: &[String]) -> String {
    if problems.is_empty() {
        return "<p class=\"proof good\">The ledger is verified: every line is unchanged and in order.</p>".to_owned();
    }
    let items: String = problems.iter().take(20).map(|problem| format!("<li>{}</li>", escape(problem))).collect();
    format!("<div class=\"proof bad\">The ledger has {} problems.<ul>{items}</ul></div>", problems.len())
}

fn over_time(summary: &LedgerSummary) -> String {
    if summary.days.is_empty() {
        return String::new();
    }
    format!(
        "<section><h2>Activity</h2><div class=\"card\">{}<p class=\"legend\"><span class=\"key inside\"></span>in scope \
         <span class=\"key escape\"></span>escapes</p></div></section>",
        activity(&summary.days)
    )
}

fn intents(report: &ReportInput<'_>) -> String {
    let summary = report.summary;
    let declared = report.intents.iter().map(|intent| {
        let status = serde_json::to_value(intent.status).unwrap_or_default();
        let status = status.as_str().unwrap_or_default().replace('_', " ").to_lowercase();
        (intent.id.as_str(), intent.name.as_str(), status)
    });
    let known: Vec<&str> = report.intents.iter().map(|intent| intent.id.as_str()).collect();
    let undeclared = summary.intents.keys().filter(|id| !known.contains(&id.as_str()));
    let undeclared = undeclared
        .map(|id| (id.as_str(), if id.is_empty() { "no intent" } else { "no longer declared" }, String::new()));
    let most = summary.intents.values().map(|found| found.entries).max().unwrap_or_default().max(1);
    let idle = ActivitySummary::default();
    let rows: String = declared
        .chain(undeclared)
        .map(|(id, name, status)| {
            let found = summary.intents.get(id).unwrap_or(&idle);
            let part = found.entries as f64 * 100.0 / most as f64;
            format!(
                "<tr><td class=\"name\">{}</td><td>{}</td><td><span class=\"status\">{}</span></td>\
                 <td class=\"bar\"><span style=\"width:{part:.1}%\"></span></td>{}{}{}{}{}<td class=\"faint\">{}</td></tr>",
                escape(if id.is_empty() { "–" } else { id }),
                escape(name),
                escape(&status),
                number(found.entries, ""),
                number(found.others.len() as u64, ""),
                number(found.added_lines, ""),
                number(found.escapes, if found.escapes > 0 { "bad" } else { "" }),
                number(found.conflicts, if found.conflicts > 0 { "bad" } else { "" }),
                day(&found.last),
            )
        })
        .collect();
    let head = "<th>id</th><th>intent</th><th>status</th><th></th><th class=\"n\">entries</th><th class=\"n\">files</th><th class=\"n\">lines added</th><th class=\"n\">escapes</th><th class=\"n\">conflicts</th><th>last</th>";
    table("Intents", head, &rows, "no declared intents")
}

fn escapes(summary: &LedgerSummary) -> String {
    let shown = summary.escapes.iter().rev().take(MAX_ESCAPES);
    let rows: String = shown.map(escape_row).collect();
    let head = "<th class=\"n\">line</th><th>time</th><th>file</th><th>intent</th><th>session</th><th>tool</th><th>outcome</th>";
    table("Escapes", head, &rows, "no changes out of scope")
}

fn escape_row(found: &RecordedEscape) -> String {
    let entry = &found.entry;
    let outcome = match (entry.reverted, entry.intent_id.is_empty()) {
        (true, _) => "reverted",
        (false, true) => "no intent",
        (false, false) => "out of scope",
    };
    let intent = if entry.intent_id.is_empty() { "–" } else { &entry.intent_id };
    format!(
        "<tr>{}<td class=\"faint\">{}</td><td class=\"path\">{}</td><td class=\"name\">{}</td><td>{}</td><td>{}</td><td class=\"bad\">{outcome}</td></tr>",
        number(found.line, ""),
        escape(&entry.timestamp.get(..16).unwrap_or(&entry.timestamp).replace('T', " ")),
        escape(entry.path().unwrap_or("(not determined)")),
        escape(intent),
        escape(&entry.session_id),
        escape(&entry.tool_name),
    )
}

fn files(summary: &LedgerSummary) -> String {
    let mut busiest: Vec<(&String, &ActivitySummary)> = summary.files.iter().collect();
    busiest.sort_by_key(|(path, found)| (std::cmp::Reverse(found.entries), path.as_str()));
    let rows: String = busiest
        .iter()
        .take(MAX_FILES)
        .map(|(path, found)| {
            let mut named: Vec<&str> = found.others.iter().map(|id| if id.is_empty() { "–" } else { id }).collect();
            let more = named.len().saturating_sub(MAX_NAMED);
            named.truncate(MAX_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!(
                "<tr><td class=\"path\">{}</td><td class=\"name\">{}{more}</td>{}{}{}<td class=\"faint\">{}</td></tr>",
                escape(path),
                escape(&named.join(", ")),
                number(found.entries, ""),
                number(found.added_lines, ""),
                number(found.escapes, if found.escapes > 0 { "bad" } else { "" }),
                day(&found.last),
            )
        })
        .collect();
    let head = "<th>file</th><th>intents</th><th class=\"n\">entries</th><th class=\"n\">lines added</th><th class=\"n\">escapes</th><th>last</th>";
    let left = busiest.len().saturating_sub(MAX_FILES);
    let more = if left > 0 { format!("<p class=\"faint\">and {left} more files</p>") } else { String::new() };
    table("Files", head, &rows, "no changed files") + &more
}

fn table(name: &str, head: &str, rows: &str, empty: &str) -> String {
    if rows.is_empty() {
        return format!("<section><h2>{name}</h2><p class=\"faint\">{empty}</p></section>");
    }
    format!(
        "<section><h2>{name}</h2><div class=\"card scroll\"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )
}

fn number(value: u64, class: &str) -> String {
    format!("<td class=\"n {class}\">{value}</td>")
}

fn day(timestamp: &str) -> String {
    escape(timestamp.get(..10).unwrap_or_default())
}
