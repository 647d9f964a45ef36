//! Two texts as lines that begin with `+`, `-` or a blank, as much as a person reads.

use crate::plain::lines;
use similar::{ChangeTag, TextDiff};

/// More of a change is not shown.
pub(crate) const MAX_LINES: usize = 40;
/// More of a line is not shown.
pub(crate) const MAX_LINE_CHARS: usize = 160;
/// A larger text is not compared.
pub(crate) const MAX_BYTES: u64 = 256 * 1024;
/// Lines around a change.
const AROUND: usize = 2;

/// What differs between two texts.
pub(crate) fn diff(old: &str, new: &str) -> Vec<String> {
    if old.len() as u64 > MAX_BYTES || new.len() as u64 > MAX_BYTES {
        return vec![format!("  ({} bytes become {} bytes)", old.len(), new.len())];
    }
    let changes = TextDiff::from_lines(old, new);
    let mut shown = Vec::new();
    for (number, group) in changes.grouped_ops(AROUND).iter().enumerate() {
        if number > 0 {
            shown.push("  ...".to_owned());
        }
        for change in group.iter().flat_map(|operation| changes.iter_changes(operation)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            shown.push(format!("{sign} {}", change.value().trim_end_matches(['\n', '\r'])));
        }
    }
    shown
}

/// As much as a person reads, with nothing that a terminal would obey.
pub(crate) fn bounded(all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(MAX_LINES);
    let cut = |line: String| -> String {
        let line = lines(&line, 1).into_iter().next().unwrap_or_default();
        match line.char_indices().nth(MAX_LINE_CHARS) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    };
    let mut shown: Vec<String> = all.into_iter().take(MAX_LINES).map(cut).collect();
    if more > 0 {
        shown.push(format!("  ({more} more lines)"));
    }
    shown
}
