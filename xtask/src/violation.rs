//! What a check returns: one broken rule, where, and what to do about it.

use std::fmt;

/// One broken rule. `place` is a folder or `file:line`, relative to the repository root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// Name of the check, as in `docs/checks.md`.
    pub(crate) check: &'static str,
    /// Where it is.
    pub(crate) place: String,
    /// What is wrong, with the rule.
    pub(crate) message: String,
    /// What to do instead.
    pub(crate) hint: String,
}

impl Violation {
    pub(crate) fn new(
        check: &'static str,
        place: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self { check, place: place.into(), message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error[{}]: {}: {}", self.check, self.place, self.message)?;
        write!(f, "  hint: {}", self.hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_rule_the_place_and_the_hint() {
        let violation = Violation::new("edges", "kernel/kernel", "imports platform/os", "use a port");
        assert_eq!(violation.to_string(), "error[edges]: kernel/kernel: imports platform/os\n  hint: use a port");
    }
}
