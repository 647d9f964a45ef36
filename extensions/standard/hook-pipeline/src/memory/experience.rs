//! The lines of `experience.jsonl`.
//!
//! Pure.

use serde::{Deserialize, Serialize};

/// One line: something that happened and may be worth remembering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Experience {
    /// Made of the event it is about, so writing it twice gives the same line.
    pub id: String,
    /// When, in UTC with milliseconds.
    pub ts: String,
    /// The turn.
    pub turn_id: u64,
    /// The invocation that saw it; its records are the evidence.
    pub hook_run_id: String,
    /// The host's id of the tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub what: ExperienceKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(crate) enum ExperienceKind {
    /// The user asked for something.
    Prompt {
        /// SHA-256 of the text.
        sha256: String,
        /// Its length.
        chars: usize,
        /// The text, shortened; nothing where only hashes are kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The user said how things should be from now on.
    Preference {
        /// The sentence.
        text: String,
    },
    /// A tool call failed.
    Failure {
        /// The tool as the host names it.
        tool: String,
        /// The program, or the tool and its file.
        program: String,
        /// The command, or the tool and its file.
        command: String,
        /// What is said about it, without what varies.
        error: String,
    },
    /// A program worked after it had failed.
    Correction {
        /// The program, or the tool and its file.
        program: String,
        /// What failed.
        from: String,
        /// What worked.
        to: String,
        /// How much the second is a correction of the first.
        likeness: CommandSimilarity,
    },
    /// A call was refused.
    Denial {
        /// The record that says so.
        record: String,
        /// The tool as the host names it.
        tool: String,
        /// The rule; the module where no rule is named.
        code: String,
        /// Why.
        reason: String,
    },
}

/// How much one command is a correction of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CommandSimilarity {
    /// They are the same; something else was put right.
    Same,
    /// They differ in a little, and nothing else was changed in between.
    Close,
    /// They have the program in common.
    Loose,
}

/// The experiences in a file, each once; other lines are left out.
#[must_use]
pub(crate) fn parse_experiences(bytes: &[u8]) -> Vec<Experience> {
    let mut seen = std::collections::BTreeSet::new();
    let lines = bytes.split(|byte| *byte == b'\n');
    let parsed = lines.filter_map(|line| serde_json::from_slice::<Experience>(line).ok());
    parsed.filter(|experience| seen.insert(experience.id.clone())).collect()
}
