//! Finds the sentences of a prompt in which the user says how things should be from now on.
//!
//! Pure.

use crate::prose::{Sentence, sentences};

/// The most statements that are taken from one prompt.
const MAX_STATEMENTS: usize = 10;
const MIN_WORDS: usize = 3;
const MAX_WORDS: usize = 60;

/// Say by themselves that something is to stay so.
const STANDING: [&str; 6] =
    ["from now on", "going forward", "in the future", "in future", "as a rule", "for future reference"];
/// Turn a sentence into something else than a statement.
const NEVER_MEANT: [&str; 9] = [
    "never mind",
    "nevermind",
    "as always",
    "almost always",
    "not always",
    "almost never",
    "if you prefer",
    "whatever you prefer",
    "as you prefer",
];
/// Make it hold for this once only.
const FOR_NOW: [&str; 11] = [
    "for now",
    "this time",
    "right now",
    "just this once",
    "for the moment",
    "at the moment",
    "in this pr",
    "in this commit",
    "for this task",
    "for today",
    "in this case",
];
const GUESSES: [&str; 6] = ["might", "maybe", "perhaps", "probably", "would", "could"];
const MODALS: [&str; 3] = ["should", "must", "shall"];
/// What speaks of things rather than to somebody.
const THINGS: [&str; 6] = ["it", "this", "that", "which", "they", "there"];
const SEEMING: [&str; 7] = ["seems", "seem", "seemed", "appears", "tends", "used", "happens"];
/// What "we" observe rather than do.
const OBSERVED: [&str; 14] =
    ["get", "see", "have", "had", "saw", "got", "seem", "end", "fail", "run", "wanted", "know", "find", "knew"];
const WISHES: [&str; 6] = ["want", "prefer", "use", "like", "expect", "need"];
/// What "don't" begins without forbidding anything.
const NOT_FORBIDDEN: [&str; 24] = [
    "worry",
    "forget",
    "mind",
    "know",
    "think",
    "see",
    "understand",
    "have",
    "care",
    "bother",
    "hesitate",
    "get",
    "need",
    "believe",
    "remember",
    "you",
    "we",
    "they",
    "i",
    "seem",
    "work",
    "match",
    "exist",
    "even",
];
/// What a team does not do, as a rule.
const PRACTICES: [&str; 15] = [
    "use", "do", "allow", "want", "commit", "write", "ship", "merge", "push", "add", "mix", "put", "call", "import",
    "like",
];

/// The statements in a prompt, in order.
pub(super) fn preferences(prompt: &str) -> Vec<String> {
    let stated = sentences(prompt).into_iter().filter(is_preference);
    stated.map(|sentence| sentence.text).take(MAX_STATEMENTS).collect()
}

fn is_preference(sentence: &Sentence) -> bool {
    let fits = (MIN_WORDS..=MAX_WORDS).contains(&sentence.words().len());
    if !fits || sentence.is_question() || NEVER_MEANT.iter().chain(&FOR_NOW).any(|phrase| sentence.has(phrase)) {
        return false;
    }
    let guessed = sentence.words().iter().any(|word| GUESSES.contains(&word.as_str()));
    if !guessed && STANDING.iter().any(|phrase| sentence.has(phrase)) {
        return true;
    }
    (0..sentence.words().len()).any(|index| is_cue(sentence, index))
}

fn is_cue(sentence: &Sentence, index: usize) -> bool {
    match sentence.word(index) {
        "always" | "never" => says_always(sentence, index),
        "don't" | "dont" => forbids(sentence, index, index + 1),
        "do" if sentence.word(index + 1) == "not" => forbids(sentence, index, index + 2),
        "prefer" => says_prefer(sentence, index),
        "rather" => says_rather(sentence, index),
        "stop" => sentence.begins_clause(index) && is_doing(sentence.word(index + 1)),
        "remember" => sentence.begins_clause(index) && matches!(sentence.word(index + 1), "to" | "that"),
        "keep" => sentence.begins_clause(index) && sentence.place_of("keep in mind") == Some(index),
        "use" => {
            let contrast = ["instead of", "rather than", "not"].iter().any(|phrase| sentence.has(phrase));
            contrast && sentence.before(index, 1) == "we"
        }
        _ => false,
    }
}

fn says_always(sentence: &Sentence, index: usize) -> bool {
    let next = sentence.word(index + 1);
    if next.is_empty() || is_told(next) {
        return false;
    }
    match sentence.before(index, 1) {
        "we" => !OBSERVED.contains(&next),
        "i" => WISHES.contains(&next),
        "you" => {
            let sure = |back| sentence.before(index, back) == "sure";
            sure(2) || (sentence.before(index, 2) == "that" && sure(3))
        }
        "to" => !SEEMING.contains(&sentence.before(index, 2)),
        modal if MODALS.contains(&modal) => !THINGS.contains(&sentence.before(index, 2)),
        _ => sentence.begins_clause(index),
    }
}

fn forbids(sentence: &Sentence, index: usize, verb: usize) -> bool {
    let next = sentence.word(verb);
    let waits = sentence.words().iter().any(|word| matches!(word.as_str(), "yet" | "until" | "today"));
    if next.is_empty() || waits || NOT_FORBIDDEN.contains(&next) {
        return false;
    }
    match sentence.before(index, 1) {
        "we" => PRACTICES.contains(&next),
        "i" => matches!(next, "like") || (next == "want" && sentence.word(verb + 1) == "you"),
        _ => sentence.begins_clause(index),
    }
}

fn says_prefer(sentence: &Sentence, index: usize) -> bool {
    if sentence.word(index + 1).is_empty() {
        return false;
    }
    let whose = match sentence.before(index, 1) {
        "would" | "strongly" | "generally" | "always" | "usually" => sentence.before(index, 2),
        word => word,
    };
    matches!(whose, "i" | "we" | "i'd" | "we'd") || sentence.begins_clause(index)
}

fn says_rather(sentence: &Sentence, index: usize) -> bool {
    let next = sentence.word(index + 1);
    let short = matches!(sentence.before(index, 1), "i'd" | "we'd");
    let long = sentence.before(index, 1) == "would" && matches!(sentence.before(index, 2), "i" | "we");
    !matches!(next, "" | "than") && (short || long)
}

/// A verb that tells what something did or does, as in "and never returns".
fn is_told(word: &str) -> bool {
    const NOT_VERBS: [&str; 6] = ["mind", "ending", "been", "again", "did", "was"];
    const NOT_TOLD: [&str; 6] = ["need", "embed", "feed", "seed", "focus", "bias"];
    let third_person = word.ends_with('s') && !word.ends_with("ss");
    NOT_VERBS.contains(&word) || (!NOT_TOLD.contains(&word) && (third_person || word.ends_with("ed")))
}

fn is_doing(word: &str) -> bool {
    word.len() > 5 && word.ends_with("ing") && word != "string"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn statements_are_found() {
        let table = [
            "Always run the tests before you commit.",
            "Never commit to main!",
            "Please never use unwrap in library code.",
            "Use tabs, and never mix them with spaces.",
            "From now on, answer in German.",
            "Going forward use pnpm.",
            "I prefer small commits.",
            "I'd prefer async code here over callbacks.",
            "Prefer composition over inheritance.",
            "We strongly prefer Postgres.",
            "Don't use npm, use pnpm.",
            "Do not edit generated files.",
            "don’t add comments that restate the code",
            "We don't use default exports.",
            "We always squash before merging.",
            "We use pnpm instead of npm.",
            "I don't like semicolons.",
            "I don't want you to touch the lockfile.",
            "I'd rather have plain functions.",
            "You should always ask before deleting files.",
            "Make sure you always update the changelog.",
            "Make sure to never log tokens.",
            "Stop adding emoji to commit messages.",
            "Remember to bump the version.",
            "Keep in mind that CI runs on Windows.",
            "- always sign commits",
            "As a rule, keep functions short.",
        ];
        for prompt in table {
            assert_eq!(preferences(prompt).len(), 1, "{prompt}");
        }
    }

    #[test]
    fn what_only_looks_like_a_statement_is_left_alone() {
        let table = [
            "Why does it always fail?",
            "Do you always use tabs?",
            "The test always fails on CI.",
            "It never returns.",
            "It compiles and never returned an error.",
            "It starts, hangs and never finishes.",
            "This should never happen.",
            "It seems to always time out.",
            "Never mind, I found it.",
            "as always, thanks for the help",
            "It is almost always the cache.",
            "I always get an error when I run it.",
            "We always get a 500 here.",
            "You always forget the semicolon.",
            "Don't worry about the tests.",
            "Don't forget to push.",
            "Don't you think this is odd?",
            "I don't know why this happens.",
            "Users don't see the button.",
            "If you don't understand, ask me.",
            "Don't delete the file yet.",
            "Don't run the migration for now.",
            "Do not push until CI is green.",
            "We don't have a test for that.",
            "Do you prefer tabs or spaces?",
            "Use whatever you prefer.",
            "The users prefer dark mode.",
            "Set prefers-color-scheme and the preferred locale.",
            "Fix the always-on flag.",
            "Rename `never` to `always` please.",
            "The button says \"never ask again\" twice.",
            "```\nalways do this\n```",
            "> never do that",
            "// never call this",
            "I remember that bug.",
            "Stop the server.",
            "In the future we might need sharding.",
            "never",
            "fix the bug",
            "",
        ];
        for prompt in table {
            assert_eq!(preferences(prompt), [""; 0], "{prompt}");
        }
    }

    #[test]
    fn only_the_sentence_that_states_it_is_taken_and_not_too_many() {
        let found = preferences("The build is red. Always run cargo fmt first. Then fix it.");
        assert_eq!(found, ["Always run cargo fmt first."]);
        assert_eq!(preferences(&"Never use tabs here.\n".repeat(50)).len(), MAX_STATEMENTS);
    }

    proptest! {
        #[test]
        fn any_prompt_can_be_read(prompt in "(always|never|don't|do not|prefer|rather|stop|we|i|you|to|,|\\.|\n| |é|`|\"){0,40}") {
            for sentence in preferences(&prompt) {
                prop_assert!(prompt.contains(&sentence));
            }
        }
    }
}
