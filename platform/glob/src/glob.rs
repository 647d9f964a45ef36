//! The pattern as a whole: comment, negation, alternatives.

use crate::braces;
use crate::error::GlobError;
use crate::machine::Work;
use crate::row::{Part, Portion, Row};

/// A longer pattern is refused.
pub const MAX_PATTERN_BYTES: usize = 4096;

/// A pattern, ready to match.
#[derive(Debug, Clone)]
pub struct Glob {
    pattern: String,
    meaning: Meaning,
}

#[derive(Debug, Clone)]
enum Meaning {
    /// A comment: nothing matches.
    Nothing,
    /// The empty pattern: only the empty path matches.
    EmptyPath,
    /// What one of the rows matches.
    Any(Vec<Row>),
    /// What none of the rows matches.
    None(Vec<Row>),
}

impl Glob {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it is too long, stands for too many patterns or is nested too deeply. Anything else is
    /// a pattern: what has no special meaning stands for itself.
    pub fn new(pattern: &str) -> Result<Self, GlobError> {
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(GlobError::TooLong { bytes: pattern.len() });
        }
        Ok(Self { pattern: pattern.to_owned(), meaning: Meaning::of(pattern)? })
    }

    /// The text it was read from.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Whether a path matches. Bounded: a match that would need too much work is none.
    #[must_use]
    pub fn is_match(&self, path: &str) -> bool {
        match &self.meaning {
            Meaning::Nothing => false,
            Meaning::EmptyPath => path.is_empty(),
            Meaning::Any(rows) => any_match(rows, path) == Some(true),
            Meaning::None(rows) => any_match(rows, path) == Some(false),
        }
    }

    /// Whether it is a comment or empty, so that no path with a name matches.
    #[must_use]
    pub fn matches_nothing(&self) -> bool {
        matches!(self.meaning, Meaning::Nothing | Meaning::EmptyPath)
    }

    /// Whether it stands for everything that the rest of the pattern does not match.
    #[must_use]
    pub fn is_negated(&self) -> bool {
        matches!(self.meaning, Meaning::None(_))
    }

    /// Whether an alternative starts at the root of a disk or goes up with `..`, so that it can only
    /// be about something outside the folder that paths are relative to.
    #[must_use]
    pub fn leaves_its_folder(&self) -> bool {
        self.rows().iter().any(|row| {
            let literals = || {
                row.parts().iter().map(|part| match part {
                    Part::Literal(text) => Some(text.as_str()),
                    _ => None,
                })
            };
            let rooted = row.parts().len() > 1 && literals().next() == Some(Some(""));
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
        for row in self.rows() {
            let literals = row.parts().iter().map_while(|part| match part {
                Part::Literal(text) => Some(text.as_str()),
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

    fn rows(&self) -> &[Row] {
        match &self.meaning {
            Meaning::Any(rows) | Meaning::None(rows) => rows,
            Meaning::Nothing | Meaning::EmptyPath => &[],
        }
    }
}

impl Meaning {
    fn of(pattern: &str) -> Result<Self, GlobError> {
        if pattern.starts_with('#') {
            return Ok(Self::Nothing);
        }
        if pattern.is_empty() {
            return Ok(Self::EmptyPath);
        }
        let positive = pattern.trim_start_matches('!');
        let negated = (pattern.len() - positive.len()) % 2 == 1;
        let mut alternatives = braces::expand(positive)?;
        alternatives.dedup();
        let rows: Result<Vec<Row>, _> = alternatives.iter().map(|text| Row::parse(text)).collect();
        Ok(if negated { Self::None(rows?) } else { Self::Any(rows?) })
    }
}

/// Nothing when the work ran out.
fn any_match(rows: &[Row], path: &str) -> Option<bool> {
    let portions = Portion::split(path);
    let mut work = Work::new();
    for row in rows {
        work.spend(1)?;
        if row.is_match(&portions, &mut work)? {
            return Some(true);
        }
    }
    Some(false)
}

fn is_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}
