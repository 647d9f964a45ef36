//! What a call would change, as a diff: found from its arguments, and from the file that it would replace.

use crate::text_diff::{MAX_BYTES, bounded, diff};
use dispatch_contracts::conversation::ToolCall;
use dispatch_os::files::read_text_at_most;
use std::path::Path;

/// The change in lines that begin with `+`, `-` or a blank; nothing where the arguments do not say.
pub(super) fn preview(call: &ToolCall, workdir: &Path) -> Vec<String> {
    let text = |name: &str| call.arguments.get(name).and_then(|value| value.as_str());
    let file = || text("path").and_then(|path| read_text_at_most(&workdir.join(path), MAX_BYTES).ok());
    if let (Some(old), Some(new)) = (text("old_text"), text("new_text")) {
        // Whole lines say more than the part that is replaced.
        return bounded(match file().filter(|file| !old.is_empty() && file.contains(old)) {
            Some(file) => diff(&file, &replaced(&file, old, new, call)),
            None => diff(old, new),
        });
    }
    if let (Some(_), Some(new)) = (text("path"), text("content")) {
        return bounded(diff(&file().unwrap_or_default(), new));
    }
    if let Some(patch) = text("patch") {
        return bounded(patch.lines().map(str::to_owned).collect());
    }
    let command = text("command").filter(|command| command.contains('\n'));
    bounded(command.map(|command| command.lines().map(|line| format!("  {line}")).collect()).unwrap_or_default())
}

fn replaced(file: &str, old: &str, new: &str, call: &ToolCall) -> String {
    match call.arguments.get("replace_all").and_then(serde_json::Value::as_bool) {
        Some(true) => file.replace(old, new),
        Some(false) | None => file.replacen(old, new, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_diff::{MAX_LINE_CHARS, MAX_LINES};
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
        let edit = json!({"path": "a", "old_text": "w", "new_text": "W"});
        assert_eq!(shown(edit, folder.path()), ["  one", "- two", "+ tWo"]);
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
