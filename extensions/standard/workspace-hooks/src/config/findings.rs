//! Collects everything that is wrong with a file and turns it into problems with row and column.
//!
//! Pure.

use super::json::JsonFlaw;
use crate::contract::Problem;
use dispatch_redact::Redactor;

/// Problems that are told of one file; whoever has mended these may ask again.
pub(crate) const MAX_PROBLEMS: usize = 200;

/// One thing that is wrong.
struct Finding {
    at: usize,
    pointer: String,
    rule: &'static str,
    message: String,
    hint: Option<String>,
}

/// Everything that is wrong with one file.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    total: usize,
}

impl Findings {
    pub(crate) fn add(&mut self, at: usize, pointer: &str, rule: &'static str, message: impl Into<String>) {
        self.push(at, pointer, rule, message, None);
    }

    pub(crate) fn add_hinted(
        &mut self,
        at: usize,
        pointer: &str,
        rule: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.push(at, pointer, rule, message, Some(hint.into()));
    }

    pub(crate) fn add_flaw(&mut self, flaw: JsonFlaw) {
        self.push(flaw.at, &flaw.pointer, flaw.rule, flaw.message, flaw.hint.map(str::to_owned));
    }

    /// How many there were, also those that are not told.
    pub(crate) const fn total(&self) -> usize {
        self.total
    }

    /// Whether a further one would not be listed, so that its message need not be made.
    pub(crate) fn is_full(&self) -> bool {
        self.list.len() >= MAX_PROBLEMS
    }

    fn push(&mut self, at: usize, pointer: &str, rule: &'static str, message: impl Into<String>, hint: Option<String>) {
        self.total += 1;
        if !self.is_full() {
            self.list.push(Finding { at, pointer: pointer.to_owned(), rule, message: message.into(), hint });
        }
    }

    /// The problems in the order of the text, which is gone through once.
    pub(crate) fn placed(mut self, file: &str, text: &str) -> Vec<Problem> {
        self.list.sort_by_key(|finding| finding.at);
        let left_out = self.total - self.list.len();
        let redactor = Redactor::builtin();
        let mut place = TextPosition::start(text);
        let mut problems: Vec<Problem> = Vec::with_capacity(self.list.len());
        for finding in self.list {
            place.advance(text, finding.at);
            problems.push(Problem {
                file: file.to_owned(),
                line: place.line,
                column: place.column,
                pointer: redactor.redact(&finding.pointer).into_owned(),
                rule: finding.rule.to_owned(),
                message: redactor.redact(&finding.message).into_owned(),
                hint: finding.hint.map(|hint| redactor.redact(&hint).into_owned()),
            });
        }
        if let (true, Some(last)) = (left_out > 0, problems.last().cloned()) {
            let message = format!("{left_out} more problems are not listed");
            problems.push(Problem { rule: "too-many".to_owned(), message, hint: None, ..last });
        }
        problems
    }
}

/// A place in a text that only goes forward.
struct TextPosition {
    at: usize,
    line: u32,
    column: u32,
}

impl TextPosition {
    fn start(text: &str) -> Self {
        // No editor counts the mark at the start of a file as a column.
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { at, line: 1, column: 1 }
    }

    fn advance(&mut self, text: &str, to: usize) {
        for character in text.get(self.at..to).unwrap_or_default().chars() {
            if character == '\n' {
                self.line = self.line.saturating_add(1);
                self.column = 1;
            } else {
                self.column = self.column.saturating_add(1);
            }
        }
        self.at = self.at.max(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters() {
        let text = "\u{feff}{\r\n  \"é😀\": x\n}";
        let mut findings = Findings::default();
        for character in ['x', '}', '{'] {
            findings.add(text.find(character).unwrap(), "", "r", character);
        }
        let places: Vec<_> =
            findings.placed("f", text).iter().map(|it| (it.message.clone(), it.line, it.column)).collect();
        assert_eq!(places, [("{".into(), 1, 1), ("x".into(), 2, 9), ("}".into(), 3, 1)]);
    }

    #[test]
    fn too_many_are_counted_and_not_told() {
        let mut findings = Findings::default();
        (0..MAX_PROBLEMS + 5).for_each(|_| findings.add(0, "", "r", "m"));
        let problems = findings.placed("f", "{}");
        assert_eq!(problems.len(), MAX_PROBLEMS + 1);
        assert_eq!(problems[MAX_PROBLEMS].message, "5 more problems are not listed");
    }

    #[test]
    fn a_secret_that_somebody_wrote_as_a_name_is_not_repeated() {
        let mut findings = Findings::default();
        let secret = concat!("gh", "p_abcdefghijklmnopqrstuvwxyz0123456789");
        findings.add_hinted(0, secret, "r", format!("unknown key `{secret}`"), secret);
        let told = format!("{:?}", findings.placed("f", "{}"));
        assert!(!told.contains(secret), "{told}");
    }
}
