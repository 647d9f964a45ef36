//! A violation while it is still attached to the place it was found at.

use super::{Violation, describe};
use crate::services::dotted::{PathStep, dotted};

/// Keys longer than this are cut in a message.
const MAX_KEY_CHARS: usize = 64;

/// One thing that is wrong, before it is put into words for the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Where.
    pub(crate) steps: Vec<PathStep>,
    /// What.
    pub(crate) message: String,
    /// What would help.
    pub(crate) hint: Option<String>,
    /// What kind of disagreement it is.
    pub(crate) kind: FindingKind,
}

/// Tells apart a value of another shape from a value that is wrong in itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FindingKind {
    /// The value is of another type; what was expected.
    Type(Vec<String>),
    /// The value is not one of those listed; what was expected.
    Choice(Vec<String>),
    /// Anything else.
    Other,
}

impl Finding {
    /// What was expected in its place, if the value is altogether another one.
    pub(super) fn expected(&self) -> Option<&[String]> {
        match &self.kind {
            FindingKind::Type(expected) | FindingKind::Choice(expected) => Some(expected),
            FindingKind::Other => None,
        }
    }

    /// The same, when the value that was checked is itself a part of a larger one.
    pub(crate) fn below(mut self, place: &[PathStep]) -> Self {
        self.steps.splice(0..0, place.iter().cloned());
        self
    }

    /// Whether text would have been right.
    pub(crate) fn expects_text(&self) -> bool {
        matches!(&self.kind, FindingKind::Type(words) if words.iter().any(|word| word == describe::TEXT))
    }

    /// The place as a dotted name, with overlong keys cut.
    pub(crate) fn path(&self) -> String {
        dotted(&self.steps.iter().map(shortened).collect::<Vec<_>>())
    }
}

impl From<Finding> for Violation {
    fn from(finding: Finding) -> Self {
        Self { path: finding.path(), message: finding.message, hint: finding.hint }
    }
}

fn shortened(step: &PathStep) -> PathStep {
    match step {
        PathStep::Key(key) => match key.char_indices().nth(MAX_KEY_CHARS) {
            Some((end, _)) => PathStep::Key(format!("{}…", key.get(..end).unwrap_or_default())),
            None => step.clone(),
        },
        PathStep::Index(_) => step.clone(),
    }
}
