//! Where in the text of `hooks.json` each hook is, for whatever is shown beside it.
//!
//! Pure.

/// A hook and where its name stands: rows from 0, columns in UTF-16 units from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookLine {
    pub(super) id: String,
    pub(super) line: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Hooks are not nested deeper than this.
const MAX_DEPTH: usize = 64;

/// The hooks of a text, also of one that is not valid everywhere.
pub(super) fn hook_lines(text: &str) -> Vec<HookLine> {
    let mut reader = HookLineReader { stack: Vec::new(), key: None, found: Vec::new() };
    for (row, line) in text.lines().enumerate() {
        reader.read_line(u32::try_from(row).unwrap_or(u32::MAX), line);
    }
    reader.found
}

/// What encloses the place that is read.
struct BracketLevel {
    bracket: char,
    /// The key that it is the value of.
    key: Option<String>,
}

struct HookLineReader {
    stack: Vec<BracketLevel>,
    /// The text before a colon, or the last text.
    key: Option<String>,
    found: Vec<HookLine>,
}

impl HookLineReader {
    fn read_line(&mut self, line: u32, text: &str) {
        let mut at = 0;
        while let Some(character) = text.get(at..).and_then(|rest| rest.chars().next()) {
            match character {
                '"' => {
                    let length = string_length(text.get(at..).unwrap_or_default());
                    self.read_string(line, text, at, length);
                    at += length;
                    continue;
                }
                '{' | '[' if self.stack.len() < MAX_DEPTH => {
                    let key = self.key.take();
                    self.stack.push(BracketLevel { bracket: character, key });
                }
                '}' | ']' => {
                    self.stack.pop();
                    self.key = None;
                }
                ',' => self.key = None,
                _ => {}
            }
            at += character.len_utf8();
        }
    }

    fn read_string(&mut self, line: u32, text: &str, at: usize, length: usize) {
        let literal = text.get(at..at + length).unwrap_or_default();
        let Ok(value) = serde_json::from_str::<String>(literal) else { return };
        let is_key = text.get(at + length..).is_some_and(|rest| rest.trim_start().starts_with(':'));
        if is_key {
            self.key = Some(value);
            return;
        }
        if self.key.as_deref() == Some("id") && self.in_a_hook() {
            let units = |text: &str| u32::try_from(text.encode_utf16().count()).unwrap_or(u32::MAX);
            let start = units(text.get(..at).unwrap_or_default());
            self.found.push(HookLine { id: value, line, start, end: start + units(literal) });
        }
    }

    /// Whether the place is directly in an object of the list `hooks`.
    fn in_a_hook(&self) -> bool {
        let brackets: String = self.stack.iter().map(|level| level.bracket).collect();
        brackets == "{[{" && self.stack.get(1).is_some_and(|level| level.key.as_deref() == Some("hooks"))
    }
}

/// How many bytes a string takes that begins here, quotes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hooks_are_found_where_they_are() {
        let text = "{\n  \"schemaVersion\": 1,\n  \"hooks\": [\n    { \"id\": \"lint\", \"metadata\": { \"id\": \"no\" } },\n    \
                    {\n      \"prompt\": \"ä { \\\" \\\\\",\n      /* ä */ \"id\" : \"te\\u0073t\"\n    }\n  ],\n  \"id\": \"no\",\n  \
                    \"others\": [{ \"id\": \"no\" }]\n}\n";
        let found: Vec<(String, u32, u32, u32)> =
            hook_lines(text).into_iter().map(|line| (line.id, line.line, line.start, line.end)).collect();
        assert_eq!(found, [("lint".to_owned(), 3, 12, 18), ("test".to_owned(), 6, 21, 32)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,200}", pieces in proptest::collection::vec(r#"[{}\[\]",:\\ä]"#, 0..60)) {
            hook_lines(&text);
            hook_lines(&pieces.concat());
        }
    }
}
