//! What a call would change, as a diff: found from its arguments, and from the file that it would replace.

use crate::plain::lines;
use dispatch_contracts::conversation::ToolCall;
use dispatch_os::files::read_text_at_most;
use similar::{ChangeTag, TextDiff};
use std::path::Path;

/// More of a change is not shown.
const MAX_LINES: usize = 40;
/// More of a line is not shown.
const MAX_LINE_CHARS: usize = 160;
/// A larger text is not compared.
const MAX_BYTES: u64 = 256 * 1024;
/// Lines around a change.
const AROUND: usize = 2;

/// The change in lines that begin with `+`, `-` or a blank; nothing where the arguments do not say.
pub(super) fn preview(call: &ToolCall, workdir: &Path) -> Vec<String> {
    let text = |name: &str| call.arguments.get(name).and_then(|value| value.as_str());
    if let (Some(old), Some(new)) = (text("old_text"), text("new_text")) {
        return bounded(diff(old, new));
    }
    if let (Some(path), Some(new)) = (text("path"), text("content")) {
        let old = read_text_at_most(&workdir.join(path), MAX_BYTES).unwrap_or_default();
        return bounded(diff(&old, new));
    }
    if let Some(patch) = text("patch") {
        return bounded(patch.lines().map(str::to_owned).collect());
    }
    let command = text("command").filter(|command| command.contains('\n'));
    bounded(command.map(|command| command.lines().map(|line| format!("  {line}")).collect()).unwrap_or_default())
}

fn diff(old: &str, new: &str) -> Vec<String> {
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
fn bounded(all: Vec<String>) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn shown(arguments: Value, workdir: &Path) -> Vec<String> {
        let arguments = arguments.as_object().cloned().unwrap();
        preview(&ToolCall { id: "c".into(), name: "t".to_owned(), arguments }, workdir)
    }

    #[test]
    fn edits_and_files_are_compared() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "one\ntwo\n").unwrap();
        assert_eq!(shown(json!({"old_text": "x", "new_text": "y"}), folder.path()), ["- x", "+ y"]);
        assert_eq!(shown(json!({"path": "a", "content": "one\n2\n"}), folder.path()), ["  one", "- two", "+ 2"]);
        assert_eq!(shown(json!({"path": "new", "content": "n\n"}), folder.path()), ["+ n"]);
        assert_eq!(shown(json!({"path": "a"}), folder.path()), Vec::<String>::new());
        assert_eq!(shown(json!({"command": "ls"}), folder.path()), Vec::<String>::new());
    }

    #[test]
    fn much_is_cut() {
        let long: String = (0..100).map(|number| format!("{number}\n")).collect();
        let all = shown(json!({"path": "new", "content": long}), Path::new("/nowhere"));
        assert_eq!((all.len(), all.last().unwrap().as_str()), (MAX_LINES + 1, "  (60 more lines)"));
        let wide = shown(json!({"old_text": "", "new_text": "a".repeat(1000)}), Path::new("/nowhere"));
        assert_eq!(wide[0].chars().count(), MAX_LINE_CHARS + 1);
    }
}
