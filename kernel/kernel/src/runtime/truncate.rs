//! Cutting a text that is too large for a model, at the middle and on character boundaries.

/// A text within the limit, or its head and tail with what is missing between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Truncated<'t> {
    /// It fits.
    Whole(&'t str),
    /// It does not.
    Parts {
        /// The beginning.
        head: &'t str,
        /// The end.
        tail: &'t str,
        /// Bytes left out.
        missing: usize,
    },
}

/// Keeps at most `limit` bytes: three quarters of them from the beginning, the rest from the end.
pub(super) fn cut(text: &str, limit: usize) -> Truncated<'_> {
    if text.len() <= limit {
        return Truncated::Whole(text);
    }
    let head = &text[..text.floor_char_boundary(limit - limit / 4)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit / 4)..];
    Truncated::Parts { head, tail, missing: text.len() - head.len() - tail.len() }
}

/// The end of a text, of at most `limit` bytes.
pub(super) fn tail(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_at_the_limit_is_whole() {
        assert_eq!(cut("abcd", 4), Truncated::Whole("abcd"));
        assert_eq!(cut("", 0), Truncated::Whole(""));
    }

    #[test]
    fn a_longer_text_keeps_its_ends() {
        assert_eq!(cut("abcdefghij", 8), Truncated::Parts { head: "abcdef", tail: "ij", missing: 2 });
    }

    proptest! {
        #[test]
        fn a_cut_keeps_the_limit_and_accounts_for_every_byte(text in "\\PC{0,200}", limit in 0..300_usize) {
            if let Truncated::Parts { head, tail, missing } = cut(&text, limit) {
                prop_assert!(head.len() + tail.len() <= limit);
                prop_assert_eq!(head.len() + tail.len() + missing, text.len());
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
            } else {
                prop_assert!(text.len() <= limit);
            }
        }
    }
}
