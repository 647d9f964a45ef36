//! What blocks the work of a session where phases are enforced: `blockOn` of the manifest.
//!
//! Pure.

use serde::{Deserialize, Serialize};

/// The codes of calls that change the rules, an off switch or our keys.
const DEFAULT_CODES: [&str; 1] = ["SG*"];
/// An agent that was refused once goes another way; one that goes on and on needs a person.
const DEFAULT_REFUSALS_PER_TURN: usize = 5;

/// What blocks the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct BlockingPolicy {
    /// A call that is refused by one of these codes blocks at once; `*` at the end is any text.
    pub codes: Vec<String>,
    /// So many refused calls in one turn block; 0 is never.
    pub refusals_per_turn: usize,
    /// Whether a call that passed because the budget was used up blocks.
    pub budget_exceeded: bool,
}

impl Default for BlockingPolicy {
    fn default() -> Self {
        Self {
            codes: DEFAULT_CODES.map(str::to_owned).to_vec(),
            refusals_per_turn: DEFAULT_REFUSALS_PER_TURN,
            budget_exceeded: true,
        }
    }
}

impl BlockingPolicy {
    /// Whether a code blocks at once.
    pub(crate) fn names(&self, code: &str) -> bool {
        self.codes.iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => code.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)),
            None => pattern.eq_ignore_ascii_case(code),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_named_whole_or_by_their_beginning() {
        let policy = |codes: &[&str]| BlockingPolicy {
            codes: codes.iter().map(|code| (*code).to_owned()).collect(),
            ..BlockingPolicy::default()
        };
        let table = [
            (&["SG*"][..], "SG03", true),
            (&["SG*"], "UB01", false),
            (&["ub01"], "UB01", true),
            (&["UB0"], "UB01", false),
            (&["*"], "X", true),
            (&[], "X", false),
        ];
        for (codes, code, expected) in table {
            assert_eq!(policy(codes).names(code), expected, "{codes:?} {code}");
        }
        assert!(BlockingPolicy::default().names("SG01"));
    }
}
