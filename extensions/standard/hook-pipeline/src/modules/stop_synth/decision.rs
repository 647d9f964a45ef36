//! Finds the sentences of a prompt that state a decision.
//!
//! Pure.

use crate::prose::{Sentence, sentences};

/// The most decisions that are taken from one prompt.
const MAX_DECISIONS: usize = 5;
const MIN_WORDS: usize = 4;
const MAX_WORDS: usize = 60;

const STATED: [&str; 31] = [
    "let's go with",
    "lets go with",
    "we'll go with",
    "we will go with",
    "i'll go with",
    "i will go with",
    "we're going with",
    "we are going with",
    "i'm going with",
    "we decided",
    "i decided",
    "we've decided",
    "i've decided",
    "we have decided",
    "i have decided",
    "we settled on",
    "we've settled on",
    "we agreed",
    "we've agreed",
    "we chose",
    "i chose",
    "we choose",
    "let's use",
    "lets use",
    "let's stick with",
    "we'll use",
    "we will use",
    "we'll stick with",
    "let's switch to",
    "we're switching to",
    "we are switching to",
];
/// Leave it open.
const OPEN: [&str; 17] = [
    "if",
    "unless",
    "maybe",
    "perhaps",
    "might",
    "whether",
    "haven't",
    "hasn't",
    "not decided",
    "should we",
    "once we",
    "until we",
    "before we",
    "when we",
    "did we",
    "for now",
    "or",
];

/// The decisions in a prompt, in order.
pub(super) fn decisions(prompt: &str) -> Vec<String> {
    let stated = sentences(prompt).into_iter().filter(is_decision);
    stated.map(|sentence| sentence.text).take(MAX_DECISIONS).collect()
}

fn is_decision(sentence: &Sentence) -> bool {
    let fits = (MIN_WORDS..=MAX_WORDS).contains(&sentence.words().len());
    if !fits || sentence.is_question() || OPEN.iter().any(|phrase| sentence.has(phrase)) {
        return false;
    }
    let labelled = sentence.word(0) == "decision" && sentence.begins_clause(1);
    let stated = |phrase: &&str| sentence.place_of(phrase).is_some_and(|place| is_main_clause(sentence, place));
    labelled || STATED.iter().any(stated)
}

/// "The one we decided on" tells of a decision and states none.
fn is_main_clause(sentence: &Sentence, place: usize) -> bool {
    const BEFORE: [&str; 6] = ["that", "think", "guess", "hereby", "today", "finally"];
    sentence.begins_clause(place) || BEFORE.contains(&sentence.before(place, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decisions_are_found() {
        let table = [
            "Let's go with SQLite for the cache.",
            "OK, we decided to drop Python 3.8.",
            "Decision: keep the REST interface.",
            "After the meeting, we agreed to use UTC everywhere.",
            "We'll use Postgres instead of MySQL.",
            "I've decided against the rewrite.",
            "Let’s switch to pnpm workspaces.",
        ];
        for prompt in table {
            assert_eq!(decisions(prompt).len(), 1, "{prompt}");
        }
    }

    #[test]
    fn what_leaves_it_open_is_none() {
        let table = [
            "Should we go with SQLite?",
            "If we decided to drop it, what breaks?",
            "We haven't decided on the cache.",
            "Maybe we'll use Postgres.",
            "You decide which one is better.",
            "Use the library we decided on.",
            "Let's use sqlite or postgres here.",
            "Let's use a mock for now.",
            "Add a decision table to the docs.",
            "> we decided to do it",
            "`we decided to do it` is printed",
            "let's go",
            "",
        ];
        for prompt in table {
            assert_eq!(decisions(prompt), [""; 0], "{prompt}");
        }
    }

    proptest! {
        #[test]
        fn any_prompt_can_be_read(prompt in "(we|decided|decision|let's|use|go|with|,|:|\\.|\n| |é|`){0,40}") {
            for sentence in decisions(&prompt) {
                prop_assert!(prompt.contains(&sentence));
            }
        }
    }
}
