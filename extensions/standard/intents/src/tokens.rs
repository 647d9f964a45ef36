//! How many tokens a model makes of a text.

/// The count by the `o200k` vocabulary. The first call loads it, which takes a fifth of a second.
#[must_use]
pub(crate) fn count(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().count_ordinary(text)
}
