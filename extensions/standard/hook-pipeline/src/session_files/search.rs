//! Searches in bytes that start at once: asking the processor what it can do takes longer than searching a log's end.
//!
//! On a virtual machine each such question is answered by the host, ten of them in as many microseconds as judging
//! a tool call takes. What every processor of the architecture has is fast enough for some kilobytes.

#[cfg(target_arch = "x86_64")]
use memchr::arch::all::rabinkarp;
#[cfg(target_arch = "x86_64")]
use memchr::arch::x86_64::sse2::{memchr::One, packedpair};

/// Where the next line feed is.
#[must_use]
pub(super) fn line_end(text: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(finder) = One::new(b'\n') {
        return finder.find(text);
    }
    memchr::memchr(b'\n', text)
}

/// Where the last line feed is.
#[must_use]
pub(super) fn last_line_end(text: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if let Some(finder) = One::new(b'\n') {
        return finder.rfind(text);
    }
    memchr::memrchr(b'\n', text)
}

/// Looks for one text in many.
#[derive(Debug, Clone)]
pub(super) struct Finder<'n> {
    needle: &'n [u8],
    #[cfg(target_arch = "x86_64")]
    pair: Option<packedpair::Finder>,
}

impl<'n> Finder<'n> {
    /// Looks for this text.
    #[must_use]
    pub(super) fn new(needle: &'n [u8]) -> Self {
        Self {
            needle,
            #[cfg(target_arch = "x86_64")]
            pair: packedpair::Finder::new(needle),
        }
    }

    /// How long the text is.
    #[must_use]
    pub(super) fn needle_len(&self) -> usize {
        self.needle.len()
    }

    /// Where the text begins for the first time.
    #[must_use]
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if let Some(pair) = &self.pair {
            if text.len() < pair.min_haystack_len() {
                return rabinkarp::Finder::new(self.needle).find(text, self.needle);
            }
            return pair.find(text, self.needle);
        }
        memchr::memmem::find(text, self.needle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_is_found_where_a_plain_search_finds_it(text in "[ab\n]{0,200}", needle in "[ab\n]{0,40}") {
            let bytes = text.as_bytes();
            prop_assert_eq!(line_end(bytes), text.find('\n'));
            prop_assert_eq!(last_line_end(bytes), text.rfind('\n'));
            prop_assert_eq!(Finder::new(needle.as_bytes()).find(bytes), text.find(&needle));
        }
    }
}
