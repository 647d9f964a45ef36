//! Names the session that a run of our own agent belongs to.

use super::super::RunAttempt;
use crate::contract::SessionScope;
use dispatch_os::digest::{hex, sha256};

/// The longest label that a session can have, with room for its beginning.
const MAX_PART_BYTES: usize = 96;
const HASH_BYTES: usize = 8;
const HASH_DIGITS: usize = 2 * HASH_BYTES;

pub(super) fn of(attempt: &RunAttempt<'_>, scope: SessionScope) -> String {
    let job = attempt.job;
    let hook = part(&job.hook.id, MAX_PART_BYTES / 3);
    match scope {
        SessionScope::Hook => format!("hook:{hook}"),
        SessionScope::Run => format!("hook:{hook}:{}", part(&job.run.0, MAX_PART_BYTES / 2)),
        SessionScope::File => match job.files.first() {
            Some(file) => {
                let clean = attempt.redactor.clean(&file.path);
                format!("hook:{hook}:{}", named(&clean, &file.path, MAX_PART_BYTES / 2))
            }
            None => format!("hook:{hook}"),
        },
    }
}

fn part(text: &str, most: usize) -> String {
    named(text, text, most)
}

/// A text as part of a label. One that had to be changed gets a hash of what it stands for, so that two stay two.
fn named(shown: &str, meant: &str, most: usize) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "._@/-".contains(character);
    let safe: String = shown.chars().map(|character| if allowed(character) { character } else { '-' }).collect();
    if safe == meant && safe.len() <= most {
        return safe;
    }
    let hash = hex(sha256(meant.as_bytes()).into_iter().take(HASH_BYTES));
    // The end of a path tells more than its beginning.
    let start = safe.len().saturating_sub(most - HASH_DIGITS - 1);
    format!("{}-{hash}", safe.get(start..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_names_stay_and_others_are_told_apart() {
        assert_eq!(part("src/a.rs", 48), "src/a.rs");
        assert_ne!(part("a b", 48), part("a-b", 48));
        assert_ne!(part("ä", 48), part("ö", 48));
        assert!(!named("see [REDACTED]", "see sk-proj-1234", 48).contains("sk-proj"));
    }

    proptest! {
        #[test]
        fn any_text_becomes_a_short_plain_part(text in ".{0,200}") {
            let part = part(&text, 48);
            prop_assert!(part.len() <= 48);
            prop_assert!(part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._@/-".contains(&byte)));
        }
    }
}
