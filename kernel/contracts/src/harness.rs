//! What an extension tells people and agents who work on it or with it: notes, rules, a feature page, its words.
//!
//! Pure.

use std::borrow::Cow;

/// The texts that every extension carries, as Markdown. An empty text is one that it does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Harness {
    /// `AGENTS.md`: what an agent that works on the extension has to know and the code does not tell.
    pub agents: Cow<'static, str>,
    /// `docs/rules.md`: rules that were learned the hard way, each with its reason.
    pub rules: Cow<'static, str>,
    /// `docs/feature.md`: what it does for a user, where its state lives, its limits.
    pub feature: Cow<'static, str>,
    /// `docs/glossary.md`: its special words.
    pub glossary: Cow<'static, str>,
}

impl Harness {
    /// A harness without texts.
    pub const EMPTY: Self = Self {
        agents: Cow::Borrowed(""),
        rules: Cow::Borrowed(""),
        feature: Cow::Borrowed(""),
        glossary: Cow::Borrowed(""),
    };

    /// Whether it has no text at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }
}

/// The [`Harness`] of the crate that calls it: embeds its `AGENTS.md`, `docs/rules.md`, `docs/feature.md` and
/// `docs/glossary.md`. A missing file does not compile.
#[macro_export]
macro_rules! harness {
    () => {
        $crate::harness::Harness {
            agents: ::std::borrow::Cow::Borrowed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/AGENTS.md"))),
            rules: ::std::borrow::Cow::Borrowed(include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules.md"))),
            feature: ::std::borrow::Cow::Borrowed(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/docs/feature.md"
            ))),
            glossary: ::std::borrow::Cow::Borrowed(include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/docs/glossary.md"
            ))),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_harness_without_texts_is_empty() {
        assert!(Harness::default().is_empty());
        assert!(!Harness { rules: Cow::Borrowed("- Never sleep for luck."), ..Harness::EMPTY }.is_empty());
    }
}
