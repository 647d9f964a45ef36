//! Entries as rows of comma-separated values (RFC 4180), safe from formulas in spreadsheets.
//!
//! Pure.

use std::fmt::Display;

use serde_json::Value;

use crate::trace_entry::TraceEntry;

const COLUMNS: &[&str] = &[
    "id",
    "timestamp",
    "intent_id",
    "session_id",
    "host",
    "tool_name",
    "mutation_class",
    "relative_path",
    "pre_hash",
    "post_hash",
    "scope_validation",
    "success",
    "reverted",
    "concurrent",
    "added_lines",
    "error",
    "note",
];

/// The names of the columns, with the end of the line.
#[must_use]
pub(crate) fn header() -> String {
    format!("{}\r\n", COLUMNS.join(","))
}

/// One entry, with the end of the line.
#[must_use]
pub(crate) fn row(entry: &TraceEntry) -> String {
    let file = entry.file.as_ref();
    let name = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let word = |value: Result<Value, serde_json::Error>| name(value.unwrap_or_default());
    let concurrent: Vec<String> = entry.concurrent.iter().map(|kind| word(serde_json::to_value(kind))).collect();
    let added: usize = entry.added.iter().map(|run| run.hashes.len()).sum();
    let cells = [
        cell(&entry.id),
        cell(&entry.timestamp),
        cell(&entry.intent_id),
        cell(&entry.session_id),
        cell(entry.host.as_deref().unwrap_or_default()),
        cell(&entry.tool_name),
        cell(word(serde_json::to_value(entry.mutation_class))),
        cell(file.map_or("", |file| &file.relative_path)),
        cell(file.and_then(|file| file.pre_hash.as_deref()).unwrap_or_default()),
        cell(file.and_then(|file| file.post_hash.as_deref()).unwrap_or_default()),
        cell(word(serde_json::to_value(entry.scope_validation))),
        cell(entry.success),
        cell(entry.reverted),
        cell(concurrent.join(" ")),
        cell(added),
        cell(entry.error.as_deref().unwrap_or_default()),
        cell(entry.note.as_deref().unwrap_or_default()),
    ];
    format!("{}\r\n", cells.join(","))
}

/// A cell, quoted where needed, that no spreadsheet reads as a formula.
fn cell(value: impl Display) -> String {
    let mut text = value.to_string();
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        text.insert(0, '\'');
    }
    if text.contains([',', '"', '\r', '\n']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::samples;

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("-2,3", "\"'-2,3\""),
            ("\tx", "'\tx"),
            ("", ""),
        ] {
            assert_eq!(cell(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_row_has_as_many_cells_as_the_header() {
        let mut entry = samples::entry(3, "src/a.rs");
        entry.error = Some("failed".to_owned());
        let row = row(&entry);
        assert_eq!(row.matches(',').count(), header().matches(',').count());
        assert!(row.contains(",INTENT_EVOLUTION,src/a.rs,sha256:"), "{row}");
        assert!(row.ends_with(",PASS,true,false,,1,failed,\r\n"), "{row}");
    }
}
