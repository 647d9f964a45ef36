//! Which texts of a tool's input can name a file that the tool touches, and which only talk about one.
//!
//! Pure.

use serde_json::Value;

/// Fields that hold code or commands, whatever else is in them.
const CODE_KEYS: [&str; 8] = ["command", "commands", "cmd", "code", "script", "sql", "query", "input"];
/// Levels of an input that are looked at; a deeper one is refused before this.
const MAX_DEPTH: usize = 64;

/// Every text that is a path by itself, or that stands where code does. Prose has spaces and is left out.
pub(super) fn paths_and_code(input: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    collect(input, "", 0, &mut found);
    found
}

fn collect<'v>(value: &'v Value, key: &str, depth: usize, found: &mut Vec<&'v str>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::String(text) => {
            let is_code = CODE_KEYS.iter().any(|code| key.eq_ignore_ascii_case(code));
            if is_code || !text.trim().contains(char::is_whitespace) {
                found.push(text);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, depth + 1, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, item)| collect(item, name, depth + 1, found)),
        _ => {}
    }
}

/// The parts of a text that could be paths, each as its components.
pub(super) fn path_parts(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let separates = |character: char| {
        !(character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '/' | '\\' | '~' | '+' | '@'))
    };
    // A backslash before a dot belongs to a regular expression, except in a path of Windows.
    let whole = |word: &&str| word.starts_with(['\\', '.', '~']);
    text.split(separates)
        .flat_map(move |word| word.split(if whole(&word) { "\n" } else { "\\." }))
        .filter(|word| word.contains(['.', '/', '\\']))
        .map(super::pattern::parts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prose_is_left_out_and_paths_and_code_are_not() {
        let input = json!({
            "todos": [{"content": "edit .ai/hooks/config.json later"}],
            "path": ".ai/hooks/config.json",
            "edits": [{"file": "a.rs"}],
            "code": "import os; os.remove('.ai/hooks/x')",
        });
        assert_eq!(paths_and_code(&input), [".ai/hooks/config.json", "a.rs", "import os; os.remove('.ai/hooks/x')"]);
    }

    #[test]
    fn a_word_is_a_path_by_its_components() {
        let parts: Vec<Vec<&str>> = path_parts("store.dispatch(x); rm './.dispatch/a'").collect();
        assert_eq!(parts, [vec!["store.dispatch"], vec![".dispatch", "a"]]);
        assert_eq!(path_parts("s/store\\.dispatch(/x/").filter(|word| word.contains(&".dispatch")).count(), 0);
        assert_eq!(path_parts("C:\\repo\\.ai\\hooks").collect::<Vec<_>>(), [vec!["repo", ".ai", "hooks"]]);
    }
}
