//! Tells whether an endless command is stopped by the host or runs beside the shell.
//!
//! Pure.

use serde_json::Value;

/// Fields with which a host runs a command beside the conversation.
const BACKGROUND_FIELDS: &[&str] =
    &["run_in_background", "runInBackground", "isBackground", "is_background", "background", "detach", "async"];
/// Fields with which a host stops a command after a while.
const TIMEOUT_FIELDS: &[&str] =
    &["timeout", "timeout_ms", "timeoutMs", "timeout_seconds", "timeoutSeconds", "yield_time_ms", "initial_wait"];
/// Fields that say `false` where a command does not hold up the conversation.
const BLOCKING_FIELDS: &[&str] = &["Blocking", "blocking"];

/// Words behind which separators belong to what they open.
const OPENERS: &[&str] = &["while", "until", "for", "if", "case", "{", "select"];
const CLOSERS: &[&str] = &["done", "fi", "esac", "}"];

/// Whether something bounds the endless program `target` (`loop` for a loop) from outside.
pub(super) fn is_lifted(input: &Value, text: &str, target: &str) -> bool {
    let is =
        |fields: &[&str], wanted: fn(&Value) -> bool| fields.iter().filter_map(|field| input.get(*field)).any(wanted);
    is(BACKGROUND_FIELDS, |value| value.as_bool() == Some(true))
        || is(TIMEOUT_FIELDS, |value| value.as_f64().is_some_and(|limit| limit > 0.0))
        || is(BLOCKING_FIELDS, |value| value.as_bool() == Some(false))
        || runs_beside(text, if target == "loop" { "done" } else { target })
}

/// Whether every list of the text that names the word ends in `&`.
fn runs_beside(text: &str, word: &str) -> bool {
    let mut named = CommandLists { rest: text }.filter(|(list, _)| names(list, word)).peekable();
    named.peek().is_some() && named.all(|(_, end)| end == ListEnd::Beside)
}

fn names(list: &str, word: &str) -> bool {
    list.split(|c: char| !(c.is_alphanumeric() || "_-.".contains(c))).any(|part| part == word)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListEnd {
    /// `&`
    Beside,
    /// `;`, a line's end, the text's end.
    Waits,
}

/// The lists of a text, each with what ends it. Quotes, parentheses and blocks hold together.
struct CommandLists<'t> {
    rest: &'t str,
}

impl<'t> Iterator for CommandLists<'t> {
    type Item = (&'t str, ListEnd);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let text = self.rest;
        let mut cursor = ListCursor { quote: None, parentheses: 0, blocks: 0, word: 0, before: ' ' };
        let mut skip = 0;
        for (at, c) in text.char_indices() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            let after = text.get(at + c.len_utf8()..).unwrap_or_default();
            if c == '\\' && cursor.quote != Some('\'') {
                skip = 1;
                cursor.before = c;
                continue;
            }
            if let Some(end) = cursor.step(text, at, c, after) {
                self.rest = after;
                return Some((text.get(..at).unwrap_or_default(), end));
            }
        }
        self.rest = "";
        Some((text, ListEnd::Waits))
    }
}

struct ListCursor {
    quote: Option<char>,
    parentheses: usize,
    blocks: usize,
    /// Where the current word began.
    word: usize,
    before: char,
}

impl ListCursor {
    fn step(&mut self, text: &str, at: usize, c: char, after: &str) -> Option<ListEnd> {
        let before = std::mem::replace(&mut self.before, c);
        if let Some(open) = self.quote {
            if c == open {
                self.quote = None;
            }
            return None;
        }
        match c {
            '\'' | '"' | '`' => self.quote = Some(c),
            '(' => self.parentheses += 1,
            ')' => self.parentheses = self.parentheses.saturating_sub(1),
            _ => {}
        }
        if !(c.is_whitespace() || matches!(c, ';' | '&' | '|')) {
            return None;
        }
        let word = text.get(self.word..at).unwrap_or_default();
        self.word = at + c.len_utf8();
        if OPENERS.contains(&word) {
            self.blocks += 1;
        } else if CLOSERS.contains(&word) {
            self.blocks = self.blocks.saturating_sub(1);
        }
        if self.parentheses > 0 || self.blocks > 0 {
            return None;
        }
        let joins = matches!(before, '&' | '>' | '<' | '|') || after.starts_with(['&', '>']);
        match c {
            '&' if !joins => Some(ListEnd::Beside),
            ';' | '\n' => Some(ListEnd::Waits),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_that_ends_in_an_ampersand_runs_beside() {
        let table = [
            ("tail -f x &", "tail", true),
            ("tail -f x > log 2>&1 &", "tail", true),
            ("tail -f x &> log &", "tail", true),
            ("nohup tail -f x & echo $!", "tail", true),
            ("(tail -f x) &", "tail", true),
            ("{ tail -f x; } &", "tail", true),
            ("while true; do ls; done &", "done", true),
            ("while true; do tail -f x; done &", "tail", true),
            ("cd a && tail -f x &", "tail", true),
            ("tail -f x", "tail", false),
            ("tail -f x 2>&1", "tail", false),
            ("tail -f x && ls", "tail", false),
            ("tail -f x; ls &", "tail", false),
            ("ls & tail -f x", "tail", false),
            ("tail -f x & tail -f y", "tail", false),
            ("tail -f 'x &'", "tail", false),
            ("tail -f x \\&", "tail", false),
            ("tail -f x |& grep y", "tail", false),
            ("", "tail", false),
        ];
        for (text, word, expected) in table {
            assert_eq!(runs_beside(text, word), expected, "{text}");
        }
    }
}
