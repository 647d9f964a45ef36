//! The form in which a built-in pattern is written down, and how one is matched.
//!
//! Pure.

use crate::charset::Charset;
use crate::edge;
use crate::limits::OPEN_BYTES;
use crate::span::{Span, SpanKind};

/// A built-in pattern: literals that give it away, and what must follow.
#[derive(Clone, Copy)]
pub(crate) struct SecretRule {
    pub(crate) name: &'static str,
    pub(crate) literals: &'static [&'static str],
    pub(crate) case: LetterCase,
    edge: LiteralEdge,
    body: RuleBody,
    keeps: LiteralVisibility,
    needs: BodyRequirement,
    reach: SecretReach,
}

/// Up to where a secret may follow its literal.
#[derive(Clone, Copy)]
enum SecretReach {
    /// To the end of the word.
    Word,
    /// To the end of the line, at most [`OPEN_BYTES`].
    Line,
    /// As far as this function says of the literal at a place of a text.
    Judged(fn(&[u8], usize) -> bool),
}

/// How the literals are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetterCase {
    Exact,
    Ignored,
}

/// What may stand before the literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LiteralEdge {
    Anything,
    WordStart,
}

/// What stays readable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LiteralVisibility {
    Nothing,
    Literal,
}

/// What the body must hold besides its shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyRequirement {
    Nothing,
    Digit,
}

/// Looks around the literal that starts at the given place, reports what has to go, and says
/// up to where a further literal of the same rule would tell nothing new.
pub(crate) type SearchFunction = fn(&[u8], usize, &mut Vec<Span>) -> usize;

#[derive(Clone, Copy)]
enum RuleBody {
    Parts(&'static [TokenPart]),
    Search(SearchFunction),
}

/// A piece of a token's body. A run takes every byte it can, so matching does not go back.
#[derive(Clone, Copy)]
pub(crate) enum TokenPart {
    Text(&'static str),
    /// At least this many bytes of the set.
    AtLeast(Charset, usize),
    /// Exactly this many bytes of the set, and no more of them after.
    Exactly(Charset, usize),
}

impl SecretRule {
    /// A token: one of the literals, then the parts.
    pub(crate) const fn token(
        name: &'static str,
        literals: &'static [&'static str],
        parts: &'static [TokenPart],
    ) -> Self {
        Self {
            name,
            literals,
            case: LetterCase::Exact,
            edge: LiteralEdge::Anything,
            body: RuleBody::Parts(parts),
            keeps: LiteralVisibility::Nothing,
            needs: BodyRequirement::Nothing,
            reach: SecretReach::Word,
        }
    }

    /// Something whose limits take code to find.
    pub(crate) const fn search(name: &'static str, literals: &'static [&'static str], search: SearchFunction) -> Self {
        let rule = Self::token(name, literals, &[]);
        Self { body: RuleBody::Search(search), reach: SecretReach::Line, ..rule }
    }

    /// For a search that never looks past a blank.
    pub(crate) const fn within_word(self) -> Self {
        Self { reach: SecretReach::Word, ..self }
    }

    /// For a literal that stands in ordinary text so often that waiting for the end of the line would be felt.
    pub(crate) const fn open_while(self, is_open: fn(&[u8], usize) -> bool) -> Self {
        Self { reach: SecretReach::Judged(is_open), ..self }
    }

    /// For a literal so short that it also ends ordinary words.
    pub(crate) const fn at_word_start(self) -> Self {
        Self { edge: LiteralEdge::WordStart, ..self }
    }

    pub(crate) const fn in_any_case(self) -> Self {
        Self { case: LetterCase::Ignored, ..self }
    }

    /// The literal is not a secret: only what follows is replaced.
    pub(crate) const fn keeping_literal(self) -> Self {
        Self { keeps: LiteralVisibility::Literal, ..self }
    }

    /// For a shape that ordinary words have too.
    pub(crate) const fn with_digit(self) -> Self {
        Self { needs: BodyRequirement::Digit, ..self }
    }

    /// Whether `literal` stands at `at`.
    pub(crate) fn literal_at(&self, text: &[u8], at: usize, literal: &str) -> bool {
        let Some(found) = text.get(at..at + literal.len()) else {
            return false;
        };
        match self.case {
            LetterCase::Exact => found == literal.as_bytes(),
            LetterCase::Ignored => found.eq_ignore_ascii_case(literal.as_bytes()),
        }
    }

    /// Whether more text could make a secret of what begins with the literal of `length` bytes at `at`.
    pub(crate) fn is_open(&self, text: &[u8], at: usize, length: usize) -> bool {
        let rest = text.get(at + length..).unwrap_or_default();
        match self.reach {
            SecretReach::Word => !rest.iter().any(u8::is_ascii_whitespace),
            SecretReach::Line => is_open_line(rest),
            SecretReach::Judged(is_open) => is_open(text, at),
        }
    }

    /// Reports what has to go around the literal of `length` bytes that stands at `at`, and
    /// says up to where a further literal of this rule would tell nothing new.
    pub(crate) fn collect(&self, text: &[u8], at: usize, length: usize, spans: &mut Vec<Span>) -> usize {
        if self.edge == LiteralEdge::WordStart && !edge::starts_word(text, at) {
            return at;
        }
        match self.body {
            RuleBody::Search(search) => search(text, at, spans),
            RuleBody::Parts(parts) => self.collect_parts(text, at, at + length, parts, spans),
        }
    }

    fn collect_parts(&self, text: &[u8], at: usize, body: usize, parts: &[TokenPart], spans: &mut Vec<Span>) -> usize {
        let mut end = body;
        for part in parts {
            match part.length(text.get(end..).unwrap_or_default()) {
                Some(length) => end += length,
                // A literal inside the run that matched would lead to this same place.
                None => return end,
            }
        }
        let matched = text.get(body..end).unwrap_or_default();
        if self.needs == BodyRequirement::Nothing || matched.iter().any(u8::is_ascii_digit) {
            let start = if self.keeps == LiteralVisibility::Literal { body } else { at };
            spans.push(Span::new(SpanKind::Format(self.name), at, start..end));
        }
        end
    }
}

/// Whether a line that goes on with `rest` may still hold the secret that its beginning promised.
pub(crate) fn is_open_line(rest: &[u8]) -> bool {
    rest.len() < OPEN_BYTES && !rest.iter().any(|byte| matches!(byte, b'\n' | b'\r'))
}

impl TokenPart {
    /// How many bytes at the start of `rest` are this part.
    fn length(self, rest: &[u8]) -> Option<usize> {
        match self {
            Self::Text(expected) => rest.starts_with(expected.as_bytes()).then_some(expected.len()),
            Self::AtLeast(set, least) => Some(set.run(rest)).filter(|&run| run >= least),
            Self::Exactly(set, length) => {
                let bounded = rest.get(..rest.len().min(length + 1))?;
                Some(set.run(bounded)).filter(|&run| run == length)
            }
        }
    }
}
