//! Finds a text in a document whatever its line ends are, and replaces it without touching the rest.
//!
//! Pure.

use std::ops::Range;

use crate::document::TextDocument;

/// A document's text with plain line feeds, and the way back to its own offsets.
pub(crate) struct PlainText {
    pub(crate) text: String,
    /// Where in `text` a line feed stands for a carriage return and a line feed.
    returns: Vec<usize>,
}

impl PlainText {
    pub(crate) fn of(text: &str) -> Self {
        let mut plain = Self { text: String::with_capacity(text.len()), returns: Vec::new() };
        let mut pieces = text.split("\r\n");
        plain.text.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            plain.returns.push(plain.text.len());
            plain.text.push('\n');
            plain.text.push_str(piece);
        }
        plain
    }

    /// Where the wanted text stands, as offsets of the plain text. Matches do not overlap.
    pub(crate) fn find(&self, wanted: &str) -> Vec<usize> {
        let wanted = wanted.replace("\r\n", "\n");
        self.text.match_indices(&wanted).map(|(at, _)| at).collect()
    }

    /// The line of an offset of the plain text, counted from 1.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.text.get(..at).unwrap_or_default().matches('\n').count() + 1
    }

    fn original(&self, at: usize) -> usize {
        at + self.returns.partition_point(|position| *position < at)
    }

    fn original_range(&self, at: usize, length: usize) -> Range<usize> {
        self.original(at)..self.original(at + length)
    }
}

/// The document's text with each of the places, which hold `old`, changed to `new`.
pub(crate) fn replace_at(document: &TextDocument, plain: &PlainText, places: &[usize], old: &str, new: &str) -> String {
    let length = old.replace("\r\n", "\n").len();
    let new = document.with_line_ends(new);
    let mut text = String::with_capacity(document.text.len());
    let mut done = 0;
    for place in places {
        let range = plain.original_range(*place, length);
        text.push_str(document.text.get(done..range.start).unwrap_or_default());
        text.push_str(&new);
        done = range.end;
    }
    text.push_str(document.text.get(done..).unwrap_or_default());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(file: &str, old: &str, new: &str, expected: &str) {
        let document = TextDocument::read(file.as_bytes()).unwrap();
        let plain = PlainText::of(&document.text);
        let places = plain.find(old);
        assert_eq!(replace_at(&document, &plain, &places, old, new), expected, "{file:?}");
    }

    #[test]
    fn line_ends_do_not_stand_in_the_way_and_are_kept() {
        check("a\nb\nc\n", "b\n", "x\ny\n", "a\nx\ny\nc\n");
        check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n");
        check("a\r\nb\r\nc\r\n", "a\r\nb", "x\ny", "x\r\ny\r\nc\r\n");
        check("a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n");
        check("a\r\nb\nc\r\n", "b", "x", "a\r\nx\nc\r\n");
        check("a\r\nb\r\n", "\n", "", "ab");
        check("\r\n\r\n", "\n\n", "\n", "\r\n");
        check("x\r\ny", "y", "z", "x\r\nz");
    }

    #[test]
    fn lines_are_counted_from_one() {
        let plain = PlainText::of("a\r\nb\nc");
        assert_eq!((plain.line_of(0), plain.line_of(2), plain.line_of(4)), (1, 2, 3));
    }

    proptest! {
        #[test]
        fn a_replacement_by_itself_changes_nothing(text in "[ab\r\n]{0,20}", start in 0_usize..20, length in 1_usize..5) {
            let document = TextDocument::read(text.as_bytes()).unwrap();
            let plain = PlainText::of(&document.text);
            if let Some(old) = plain.text.get(start..start + length).filter(|old| !old.contains(['\r', '\n'])) {
                let places = plain.find(old);
                prop_assert!(!places.is_empty());
                prop_assert_eq!(replace_at(&document, &plain, &places, old, old), text);
            }
        }
    }
}
