//! Splits a prompt into sentences and their words, without code and quotations, so that cues can be looked up.

/// The longest part of a prompt that is looked at.
const SCAN_LIMIT_BYTES: usize = 16 * 1024;
/// The most sentences of one prompt that are looked at.
const MAX_SENTENCES: usize = 200;
const ABBREVIATIONS: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx."];
/// How lines begin that are code, logs, diffs or somebody else's words.
const FOREIGN_LINES: [&str; 9] = [">", "//", "/*", "#", "<", "$ ", "+", "@@", "--"];
/// Stands for code or a quotation; no cue is spelled like this.
const MASKED: &str = "#";

/// One sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// As it was written.
    pub(crate) text: String,
    words: Vec<String>,
    /// Whether a part of the sentence begins at the word of the same index.
    begins: Vec<bool>,
    question: bool,
}

/// The sentences of a text.
pub(crate) fn sentences(text: &str) -> Vec<Sentence> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in super::head(text, SCAN_LIMIT_BYTES).lines().map(str::trim) {
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        if fenced || FOREIGN_LINES.iter().any(|start| line.starts_with(start)) {
            continue;
        }
        found.extend(split(without_bullet(line)).into_iter().map(Sentence::new));
    }
    found.retain(|sentence| !sentence.words.is_empty());
    found.truncate(MAX_SENTENCES);
    found
}

impl Sentence {
    fn new(text: &str) -> Self {
        let mut sentence = Self {
            text: text.trim().to_owned(),
            words: Vec::new(),
            begins: Vec::new(),
            question: text.trim_end().ends_with('?'),
        };
        let mut begins = true;
        for token in masked(text).split_whitespace() {
            let word = token.trim_matches(|character: char| !character.is_alphanumeric() && character != '#');
            if word.is_empty() {
                begins |= matches!(token, "-" | "–" | "—" | ":");
                continue;
            }
            sentence.words.push(word.to_lowercase().replace('’', "'"));
            sentence.begins.push(begins);
            begins = token.ends_with([',', ';', ':', '—']);
        }
        sentence
    }

    /// The words in lower case, without punctuation.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The word at a place; empty beyond either end.
    pub(crate) fn word(&self, index: usize) -> &str {
        self.words.get(index).map_or("", String::as_str)
    }

    /// The word `back` places before `index`; empty before the start.
    pub(crate) fn before(&self, index: usize, back: usize) -> &str {
        index.checked_sub(back).map_or("", |index| self.word(index))
    }

    /// Whether it asks something.
    pub(crate) fn is_question(&self) -> bool {
        self.question
    }

    /// Whether these words follow each other anywhere.
    pub(crate) fn has(&self, phrase: &str) -> bool {
        self.place_of(phrase).is_some()
    }

    /// Where these words follow each other first.
    pub(crate) fn place_of(&self, phrase: &str) -> Option<usize> {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        self.words.windows(wanted.len()).position(|window| window.iter().eq(wanted.iter()))
    }

    /// Whether a clause begins at this word: first in the sentence, after a comma, a conjunction or a polite word.
    pub(crate) fn begins_clause(&self, index: usize) -> bool {
        const CONJUNCTIONS: [&str; 6] = ["and", "but", "or", "then", "so", "also"];
        const POLITE: [&str; 6] = ["please", "ok", "okay", "again", "note", "just"];
        if index >= self.words.len() {
            return false;
        }
        let mut index = index;
        while POLITE.contains(&self.before(index, 1)) {
            index -= 1;
        }
        self.begins.get(index).copied().unwrap_or(false) || CONJUNCTIONS.contains(&self.before(index, 1))
    }
}

fn without_bullet(line: &str) -> &str {
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let numbered = rest.len() < line.len();
    match rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")) {
        Some(rest) if numbered => rest.trim_start(),
        _ => ["- ", "* ", "• "].iter().find_map(|bullet| line.strip_prefix(bullet)).unwrap_or(line).trim_start(),
    }
}

/// Cuts after `.`, `!` and `?` where a word ends, except within code.
fn split(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut in_code = false;
    for (place, character) in line.char_indices() {
        let end = place + character.len_utf8();
        in_code ^= character == '`';
        let ends_word = line[end..].chars().next().is_none_or(char::is_whitespace);
        if in_code || !matches!(character, '.' | '!' | '?') || !ends_word {
            continue;
        }
        let sentence = &line[start..end];
        let last = sentence.rsplit(char::is_whitespace).next().unwrap_or_default().to_lowercase();
        if !ABBREVIATIONS.contains(&last.trim_start_matches('(')) {
            parts.push(sentence);
            start = end;
        }
    }
    parts.push(&line[start..]);
    parts
}

/// The text with a mark in place of code and quotations.
fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['`', '"', '“']) {
        let mark = rest[open..].chars().next().unwrap_or('`');
        let inside = open + mark.len_utf8();
        let close = if mark == '“' { '”' } else { mark };
        let Some(length) = rest[inside..].find(close) else {
            break;
        };
        out.push_str(&rest[..open]);
        out.push_str(MASKED);
        rest = &rest[inside + length + close.len_utf8()..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(prompt: &str) -> Vec<String> {
        sentences(prompt).into_iter().map(|sentence| sentence.text).collect()
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        let table: [(&str, &[&str]); 8] = [
            ("Fix it. Then run the tests!", &["Fix it.", "Then run the tests!"]),
            ("Use a linter, e.g. clippy. Done", &["Use a linter, e.g. clippy.", "Done"]),
            ("Edit src/main.rs and v1.2.3", &["Edit src/main.rs and v1.2.3"]),
            ("- one\n2. two\n* three", &["one", "two", "three"]),
            ("before\n```\nnever call this\n```\nafter", &["before", "after"]),
            ("> never quoted\n// never code\n# never heading", &[]),
            ("run `a. b` now. ok", &["run `a. b` now.", "ok"]),
            ("...\n \n", &[]),
        ];
        for (prompt, expected) in table {
            assert_eq!(texts(prompt), expected, "{prompt:?}");
        }
    }

    #[test]
    fn words_leave_out_code_and_quotations() {
        let found = sentences("Don’t say \"always\", use `never` — Please!");
        assert_eq!(found[0].words(), ["don't", "say", "#", "use", "#", "please"]);
        assert!(found[0].begins_clause(0) && found[0].begins_clause(3) && found[0].begins_clause(5));
        assert!(!found[0].begins_clause(1) && !found[0].begins_clause(99));
        assert!(found[0].has("say #") && !found[0].has("use please"));
        assert_eq!((found[0].word(77), found[0].before(0, 1)), ("", ""));
    }

    proptest! {
        #[test]
        fn any_text_can_be_split(text in "[ -~\n`\"“”’é]{0,200}") {
            for sentence in sentences(&text) {
                prop_assert!(!sentence.words().is_empty());
                prop_assert!(sentence.begins_clause(0) && !sentence.begins_clause(sentence.words().len()));
                prop_assert!(text.contains(&sentence.text));
            }
        }
    }
}
