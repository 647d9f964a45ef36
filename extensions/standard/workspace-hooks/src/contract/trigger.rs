//! The words by which the configuration, the database and people know what starts a hook.
//!
//! Pure.

use super::hook::Trigger;
use std::fmt;

/// The hooks of git that can start one of ours, without the one after a commit, which is `gitCommit`.
pub const GIT_HOOKS: [&str; 8] = [
    "pre-commit",
    "pre-push",
    "post-merge",
    "post-checkout",
    "post-rewrite",
    "commit-msg",
    "prepare-commit-msg",
    "pre-rebase",
];

/// The triggers that are one word each.
const WORDS: [(&str, Trigger); 8] = [
    ("onDidSaveTextDocument", Trigger::DidSave),
    ("onWillSaveTextDocument", Trigger::WillSave),
    ("onDidCreateFiles", Trigger::DidCreate),
    ("onDidDeleteFiles", Trigger::DidDelete),
    ("onDidRenameFiles", Trigger::DidRename),
    ("gitCommit", Trigger::GitCommit),
    ("manual", Trigger::Manual),
    ("schedule", Trigger::Schedule),
];

/// The longest name of a custom event.
const MAX_NAME_CHARS: usize = 80;

impl Trigger {
    /// The trigger that a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        if let Some((_, trigger)) = WORDS.iter().find(|(known, _)| *known == word) {
            return Some(trigger.clone());
        }
        match word.split_once(':')? {
            ("git", hook) if GIT_HOOKS.contains(&hook) => Some(Self::Git(hook.to_owned())),
            ("custom", name) if is_event_name(name) => Some(Self::Custom(name.to_owned())),
            _ => None,
        }
    }

    /// Every word that stands for a trigger, `custom:` with a name that is an example.
    pub fn words() -> Vec<String> {
        let single = WORDS.iter().map(|(word, _)| (*word).to_owned());
        let git = GIT_HOOKS.iter().map(|hook| format!("git:{hook}"));
        single.chain(git).chain(["custom:name".to_owned()]).collect()
    }

    /// Whether a file of the workspace starts it, so that each file has its own run.
    pub const fn is_of_files(&self) -> bool {
        matches!(self, Self::DidSave | Self::WillSave | Self::DidCreate | Self::DidDelete | Self::DidRename)
    }

    /// Whether it is a hook of git that can keep git from going on.
    pub fn can_block(&self) -> bool {
        let names = ["pre-commit", "pre-push", "commit-msg", "prepare-commit-msg", "pre-rebase"];
        matches!(self, Self::Git(hook) if names.contains(&hook.as_str()))
    }

    /// Whether git starts it.
    pub const fn is_of_git(&self) -> bool {
        matches!(self, Self::GitCommit | Self::Git(_))
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Git(hook) => write!(out, "git:{hook}"),
            Self::Custom(name) => write!(out, "custom:{name}"),
            single => {
                let word = WORDS.iter().find(|(_, trigger)| trigger == single).map(|(word, _)| *word);
                out.write_str(word.unwrap_or_default())
            }
        }
    }
}

/// Letters, digits, `.`, `-`, `_` and `/`, so that it fits into an address and on a command line.
fn is_event_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
    !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_for_itself() {
        for word in Trigger::words() {
            assert_eq!(Trigger::parse(&word).map(|trigger| trigger.to_string()), Some(word));
        }
    }

    #[test]
    fn other_words_stand_for_nothing() {
        for word in ["", "onSave", "git:", "git:post-commit", "git:../x", "custom:", "custom:a b", "Manual", ":", "x:y"]
        {
            assert_eq!(Trigger::parse(word), None, "{word}");
        }
        assert_eq!(Trigger::parse(&format!("custom:{}", "x".repeat(81))), None);
    }
}
