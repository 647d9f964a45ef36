//! JSON with comments and trailing commas: what it says, and edits that leave everything else in its place.
//!
//! Pure.

use serde_json::{Map, Value};

use super::document::pretty;

/// The text with blanks for its comments, so that every other byte keeps its place.
pub(super) fn without_comments(text: &str) -> String {
    blank(text, |bytes, at| match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'/'), Some(b'/')) => line_end(bytes, at),
        (Some(b'/'), Some(b'*')) => comment_end(bytes, at),
        _ => at,
    })
}

/// The same with blanks for commas behind which nothing comes: plain JSON, if it is JSON at all.
pub(super) fn plain(text: &str) -> String {
    blank(&without_comments(text), |bytes, at| match bytes.get(at) {
        Some(b',') if matches!(next_byte(bytes, at + 1), Some(b'}' | b']')) => at + 1,
        _ => at,
    })
}

/// The text with the values of `new` in place of those of `old`; comments and layout stay. `indent` is one step.
pub(super) fn edited(text: &str, old: &Map<String, Value>, new: &Map<String, Value>, indent: &str) -> Option<String> {
    let code = without_comments(text);
    let mut reader = SpanReader { bytes: code.as_bytes(), at: 0 };
    let root = reader.value()?;
    let mut editor = CommentedEditor { text, indent, edits: Vec::new() };
    editor.object(&root, old, new, 1);
    let mut edits = editor.edits;
    edits.sort_by_key(|(start, end, _)| (*start, *end));
    let mut result = text.to_owned();
    for (start, end, replacement) in edits.into_iter().rev() {
        result.get(start..end)?;
        result.replace_range(start..end, &replacement);
    }
    // Whatever the layout was: the result says what it should, or there is none.
    let said: Value = serde_json::from_str(&plain(&result)).ok()?;
    (said.as_object() == Some(new)).then_some(result)
}

/// Copies the text with blanks for what `skip` passes over outside of strings.
fn blank(text: &str, skip: impl Fn(&[u8], usize) -> usize) -> String {
    let bytes = text.as_bytes();
    let mut copy = bytes.to_vec();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = skip(bytes, at);
        if end > at {
            for byte in copy.get_mut(at..end).unwrap_or_default().iter_mut().filter(|byte| **byte != b'\n') {
                *byte = b' ';
            }
            at = end;
        } else if *byte == b'"' {
            at = string_end(bytes, at);
        } else {
            at += 1;
        }
    }
    // Only whole comments and commas were replaced, so that no character is cut.
    String::from_utf8(copy).unwrap_or_default()
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes.iter().skip(at).position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn comment_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at + 2..).unwrap_or_default();
    rest.windows(2).position(|pair| pair == b"*/").map_or(bytes.len(), |length| at + length + 4)
}

/// Behind the closing quote of the string that opens at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn next_byte(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.iter().skip(at).copied().find(|byte| !byte.is_ascii_whitespace())
}

/// Where a value stands, with what is inside it.
struct ValueSpan {
    start: usize,
    end: usize,
    entries: Vec<EntrySpan>,
}

/// A member of an object or an item of an array.
struct EntrySpan {
    /// Of an item the number stands for the key.
    key: String,
    start: usize,
    value: ValueSpan,
    comma: Option<usize>,
}

/// Finds the places of values in a text that is known to be JSON.
struct SpanReader<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl SpanReader<'_> {
    fn skip_blanks(&mut self) -> Option<u8> {
        while self.bytes.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn value(&mut self) -> Option<ValueSpan> {
        let first = self.skip_blanks()?;
        let start = self.at;
        let mut entries = Vec::new();
        match first {
            b'{' | b'[' => entries = self.entries(first == b'{')?,
            b'"' => self.at = string_end(self.bytes, self.at),
            _ => {
                while self.bytes.get(self.at).is_some_and(|byte| !b",]} \t\r\n".contains(byte)) {
                    self.at += 1;
                }
            }
        }
        Some(ValueSpan { start, end: self.at, entries })
    }

    fn entries(&mut self, keyed: bool) -> Option<Vec<EntrySpan>> {
        self.at += 1;
        let mut found: Vec<EntrySpan> = Vec::new();
        loop {
            match self.skip_blanks()? {
                b'}' | b']' => {
                    self.at += 1;
                    return Some(found);
                }
                b',' => {
                    if let Some(last) = found.last_mut() {
                        last.comma = Some(self.at);
                    }
                    self.at += 1;
                }
                _ => {
                    let start = self.at;
                    let mut key = found.len().to_string();
                    if keyed {
                        self.at = string_end(self.bytes, self.at);
                        key = serde_json::from_slice(self.bytes.get(start..self.at)?).ok()?;
                        self.skip_blanks()?;
                        self.at += 1;
                    }
                    let value = self.value()?;
                    found.push(EntrySpan { key, start, value, comma: None });
                }
            }
        }
    }
}

/// Collects replacements: from, to, and what stands there instead.
struct CommentedEditor<'t> {
    text: &'t str,
    indent: &'t str,
    edits: Vec<(usize, usize, String)>,
}

impl CommentedEditor<'_> {
    fn object(&mut self, span: &ValueSpan, old: &Map<String, Value>, new: &Map<String, Value>, depth: usize) {
        let mut kept = Vec::new();
        for entry in &span.entries {
            match (old.get(&entry.key), new.get(&entry.key)) {
                (Some(old), Some(new)) => {
                    self.value(&entry.value, old, new, depth);
                    kept.push(true);
                }
                _ => kept.push(false),
            }
        }
        let added = new.iter().filter(|(key, _)| !old.contains_key(*key));
        let added = added
            .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), pretty_at(value, self.indent, depth)));
        let added: Vec<String> = added.collect();
        self.entries(span, &kept, &added, depth);
    }

    fn array(&mut self, span: &ValueSpan, old: &[Value], new: &[Value], depth: usize) {
        let mut kept = Vec::new();
        let mut next = 0;
        for (at, (entry, item)) in span.entries.iter().zip(old).enumerate() {
            let wanted = new.get(next);
            let more_than_wanted = old.len() - at > new.len().saturating_sub(next);
            match wanted {
                Some(wanted) if wanted == item || !more_than_wanted => {
                    self.value(&entry.value, item, wanted, depth);
                    kept.push(true);
                    next += 1;
                }
                _ => kept.push(false),
            }
        }
        let added = new.get(next..).unwrap_or_default();
        let added: Vec<String> = added.iter().map(|value| pretty_at(value, self.indent, depth)).collect();
        self.entries(span, &kept, &added, depth);
    }

    fn value(&mut self, span: &ValueSpan, old: &Value, new: &Value, depth: usize) {
        match (old, new) {
            (old, new) if old == new => {}
            (Value::Object(old), Value::Object(new)) => self.object(span, old, new, depth + 1),
            (Value::Array(old), Value::Array(new)) => self.array(span, old, new, depth + 1),
            (_, new) => self.edits.push((span.start, span.end, pretty_at(new, self.indent, depth))),
        }
    }

    /// Takes the entries out that are not kept, and adds others behind the last one.
    fn entries(&mut self, span: &ValueSpan, kept: &[bool], added: &[String], depth: usize) {
        for (entry, _) in span.entries.iter().zip(kept).filter(|(_, kept)| !**kept) {
            let end = entry.comma.map_or(entry.value.end, |comma| comma + 1);
            self.edits.push((self.line_start(entry.start), end, String::new()));
        }
        let last_kept = span.entries.iter().zip(kept).filter(|(_, kept)| **kept).map(|(entry, _)| entry).next_back();
        let ended_with_comma = span.entries.last().is_some_and(|last| last.comma.is_some());
        match last_kept {
            Some(last) if !added.is_empty() && last.comma.is_none() => {
                self.edits.push((last.value.end, last.value.end, ",".to_owned()));
            }
            Some(EntrySpan { comma: Some(comma), .. }) if added.is_empty() && !ended_with_comma => {
                self.edits.push((*comma, comma + 1, String::new()));
            }
            _ => {}
        }
        if !added.is_empty() {
            self.add(span, added, depth);
        }
    }

    fn add(&mut self, span: &ValueSpan, added: &[String], depth: usize) {
        let close = span.end.saturating_sub(1);
        let before = self.text.get(..close).unwrap_or_default();
        let place = before.trim_end().len();
        let newline = if self.text.contains("\r\n") { "\r\n" } else { "\n" };
        let step = format!("{newline}{}", self.indent.repeat(depth));
        let mut insertion: String = added.iter().map(|entry| format!("{step}{entry},")).collect();
        // A file that ends its lists with a comma does so with ours too.
        if span.entries.last().is_none_or(|last| last.comma.is_none()) {
            insertion.pop();
        }
        if !before.get(place..).unwrap_or_default().contains('\n') {
            insertion.push_str(newline);
            insertion.push_str(&self.indent.repeat(depth - 1));
        }
        let insertion =
            if newline == "\n" { insertion } else { insertion.replace("\r\n", "\n").replace('\n', newline) };
        self.edits.push((place, place, insertion));
    }

    /// The end of the line before, if only blanks are between it and the entry.
    fn line_start(&self, entry: usize) -> usize {
        let before = self.text.get(..entry).unwrap_or_default();
        let blanks = before.trim_end_matches([' ', '\t']);
        match blanks.strip_suffix('\n') {
            Some(line) => line.strip_suffix('\r').unwrap_or(line).len(),
            None => entry,
        }
    }
}

fn pretty_at(value: &Value, indent: &str, depth: usize) -> String {
    pretty(value, indent).replace('\n', &format!("\n{}", indent.repeat(depth)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(text: &str, new: Value, expected: &str) {
        let old: Value = serde_json::from_str(&plain(text)).expect("JSON with comments");
        let edited = edited(text, old.as_object().expect("an object"), new.as_object().expect("an object"), "  ");
        assert_eq!(edited.as_deref(), Some(expected), "{text}");
    }

    #[test]
    fn an_entry_is_added_behind_the_last_one_and_its_comment() {
        check(
            "{\n  // theme\n  \"a\": 1 // one\n}\n",
            json!({"a": 1, "b": [2]}),
            "{\n  // theme\n  \"a\": 1, // one\n  \"b\": [\n    2\n  ]\n}\n",
        );
        check("{\n  \"a\": 1, // x\n}", json!({"a": 1, "b": 2}), "{\n  \"a\": 1, // x\n  \"b\": 2,\n}");
        check("{ /* nothing */ }", json!({"a": 1}), "{ /* nothing */\n  \"a\": 1\n }");
        check("{\"a\": {}} // end", json!({"a": {"b": 1}}), "{\"a\": {\n    \"b\": 1\n  }} // end");
        check(
            "{\r\n  // x\r\n  \"a\": 1\r\n}\r\n",
            json!({"a": 1, "b": {"c": 2}}),
            "{\r\n  // x\r\n  \"a\": 1,\r\n  \"b\": {\r\n    \"c\": 2\r\n  }\r\n}\r\n",
        );
    }

    #[test]
    fn an_entry_is_taken_out_with_its_comma_alone() {
        check("{\n  \"a\": 1, // one\n  \"b\": 2\n}", json!({"a": 1}), "{\n  \"a\": 1 // one\n}");
        check("{\n  // first\n  \"a\": 1,\n  \"b\": 2,\n}", json!({"b": 2}), "{\n  // first\n  \"b\": 2,\n}");
        check("{\n  \"a\": [1, /* two */ 2, 3]\n}", json!({"a": [1, 3]}), "{\n  \"a\": [1, /* two */  3]\n}");
        check("{\n  \"a\": 1 // one\n}", json!({}), "{ // one\n}");
    }

    #[test]
    fn a_value_is_changed_in_its_place() {
        check("{\"a\": 1, /* b */ \"b\": \"//x\"}", json!({"a": 2, "b": "//x"}), "{\"a\": 2, /* b */ \"b\": \"//x\"}");
        check(
            "{\n  // c\n  \"a\": [{\"x\": 1}, {\"y\": 2}]\n}",
            json!({"a": [{"x": 1}, {"y": 3}, 4]}),
            "{\n  // c\n  \"a\": [{\"x\": 1}, {\"y\": 3},\n    4\n  ]\n}",
        );
    }

    #[test]
    fn comments_are_told_from_strings() {
        assert_eq!(plain("{\"a\": \"/* x */ // \\\" ,]\"} // y"), "{\"a\": \"/* x */ // \\\" ,]\"}     ");
        assert_eq!(plain("[1, /* é */ ]"), "[1           ]");
    }
}
