//! The pattern as a whole: comment, negation, alternatives.
//!
//! Pure.

use crate::alternative::{Alternative, PathPart, PatternPart};
use crate::automaton::WorkBudget;
use crate::braces;
use crate::error::GlobError;

/// A longer pattern is refused.
pub const MAX_PATTERN_BYTES: usize = 4096;

/// A pattern, ready to match.
#[derive(Debug, Clone)]
pub struct Glob {
    pattern: String,
    meaning: GlobMeaning,
}

#[derive(Debug, Clone)]
enum GlobMeaning {
    /// A comment: nothing matches.
    Nothing,
    /// The empty pattern: only the empty path matches.
    EmptyPath,
    /// What one of the alternatives matches.
    Any(Vec<Alternative>),
    /// What none of the alternatives matches.
    None(Vec<Alternative>),
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it is too long, expands to too many patterns or is nested too deeply. Any other text is a
    /// pattern: what has no special meaning stands for itself.
    pub fn new(pattern: &str) -> Result<Self, GlobError> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(GlobError::TooLong { bytes: pattern.len() });
        }
        Ok(Self { pattern: pattern.to_owned(), meaning: GlobMeaning::of(pattern)? })
    }

    /// The text it was read from.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether a path matches. Bounded: a path that would need too much work does not match.
    #[must_use]
    pub fn is_match(&self, path: &str) -> bool {
        match &self.meaning {
            GlobMeaning::Nothing => false,
            GlobMeaning::EmptyPath => path.is_empty(),
            GlobMeaning::Any(alternatives) => any_match(alternatives, path) == Some(true),
            GlobMeaning::None(alternatives) => any_match(alternatives, path) == Some(false),
        }
    }

    /// Whether it is a comment or empty, so that no path with a name matches.
    #[must_use]
    pub fn matches_nothing(&self) -> bool {
        matches!(self.meaning, GlobMeaning::Nothing | GlobMeaning::EmptyPath)
    }

    /// Whether it stands for everything that the rest of the pattern does not match.
    #[must_use]
    pub fn is_negated(&self) -> bool {
        matches!(self.meaning, GlobMeaning::None(_))
    }

    /// Whether an alternative starts at the root of a disk or goes up with `..`, so that it can only
    /// be about something outside the folder that paths are relative to.
    #[must_use]
    pub fn leaves_its_folder(&self) -> bool {
        self.alternatives().iter().any(|alternative| {
            let literals = || {
                alternative.parts().iter().map(|part| match part {
                    PatternPart::Literal(text) => Some(text.as_str()),
                    _ => None,
                })
            };
            let rooted = alternative.parts().len() > 1 && literals().next() == Some(Some(""));
            let drive = literals().next().flatten().is_some_and(is_drive);
            rooted || drive || literals().any(|text| text == Some(".."))
        })
    }

    /// For each alternative, the folder or file that everything it matches is in or is: the parts
    /// before the first one with a wildcard. Empty for a negated pattern and for one that starts
    /// with a wildcard.
    #[must_use]
    pub fn bases(&self) -> Vec<String> {
        if self.is_negated() {
            return vec![String::new()];
        }
        let mut bases: Vec<String> = Vec::new();
        for alternative in self.alternatives() {
            let literals = alternative.parts().iter().map_while(|part| match part {
                PatternPart::Literal(text) => Some(text.as_str()),
                _ => None,
            });
            let base = literals.collect::<Vec<_>>().join("/");
            let base = base.trim_end_matches('/').to_owned();
            if !bases.contains(&base) {
                bases.push(base);
            }
        }
        bases
    }

    fn alternatives(&self) -> &[Alternative] {
        match &self.meaning {
            GlobMeaning::Any(alternatives) | GlobMeaning::None(alternatives) => alternatives,
            GlobMeaning::Nothing | GlobMeaning::EmptyPath => &[],
        }
    }
}

impl GlobMeaning {
    fn of(pattern: &str) -> Result<Self, GlobError> {
        if pattern.starts_with('#') {
            return Ok(Self::Nothing);
        }
        if pattern.is_empty() {
            return Ok(Self::EmptyPath);
        }
        let positive = pattern.trim_start_matches('!');
        let negated = (pattern.len() - positive.len()) % 2 == 1;
        let mut texts = braces::expand(positive)?;
        texts.dedup();
        let alternatives: Result<Vec<Alternative>, _> = texts.iter().map(|text| Alternative::parse(text)).collect();
        Ok(if negated { Self::None(alternatives?) } else { Self::Any(alternatives?) })
    }
}

/// `None` when the work ran out.
fn any_match(alternatives: &[Alternative], path: &str) -> Option<bool> {
    let path_parts = PathPart::split(path);
    let mut work = WorkBudget::new();
    for alternative in alternatives {
        work.spend(1)?;
        if alternative.is_match(&path_parts, &mut work)? {
            return Some(true);
        }
    }
    Some(false)
}

fn is_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}
