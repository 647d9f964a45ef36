//! Reads `/name arguments` as people type it, wherever they type it.
//!
//! Pure.

use serde_json::Value;

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The command's name, without the slash.
    pub name: String,
    /// What it is called with.
    pub args: Vec<String>,
}

/// The command of a text; `None` for anything else, such as a path or a comment.
#[must_use]
pub fn parse_command_line(text: &str) -> Option<CommandLine> {
    let body = text.trim().strip_prefix('/')?;
    let (name, rest) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    let is_name = |name: &str| name.chars().all(|letter| letter.is_alphanumeric() || "-_.:".contains(letter));
    (!name.is_empty() && is_name(name)).then(|| CommandLine { name: name.to_owned(), args: split_arguments(rest) })
}

/// What a command answered, for people: a text as it is, anything else as JSON, nothing for no answer.
#[must_use]
pub fn answer_text(answer: &Value) -> String {
    match answer {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// Splits at spaces; what stands in quotation marks stays together, and a backslash takes the next letter as it is.
fn split_arguments(text: &str) -> Vec<String> {
    let mut args = Vec::new();
    let mut current: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (mark, Some(open)) if mark == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                current.get_or_insert_default();
            }
            ('\\', None | Some('"')) => current.get_or_insert_default().extend(letters.next()),
            (space, None) if space.is_whitespace() => args.extend(current.take()),
            (other, _) => current.get_or_insert_default().push(other),
        }
    }
    args.extend(current);
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_other_text() {
        for (text, expected) in [
            ("/greet", Some(("greet", vec![]))),
            ("  /greet Ada  Lovelace ", Some(("greet", vec!["Ada", "Lovelace"]))),
            ("/greet \"Ada Lovelace\" 'it''s' a\\ b \"\"", Some(("greet", vec!["Ada Lovelace", "its", "a b", ""]))),
            ("/note 'an open mark", Some(("note", vec!["an open mark"]))),
            ("/etc/passwd is what?", None),
            ("// a comment", None),
            ("/", None),
            ("greet", None),
            ("", None),
        ] {
            let found = parse_command_line(text);
            let found = found.as_ref().map(|it| (it.name.as_str(), it.args.iter().map(String::as_str).collect()));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
