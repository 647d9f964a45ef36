//! The form in which a built-in pattern is written down, and how one is matched.

use crate::charset::Charset;
use crate::edge;
use crate::span::{Kind, Span};

/// A built-in pattern: literals that give it away, and what must follow.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) literals: &'static [&'static str],
    pub(crate) case: Case,
    edge: Edge,
    body: Body,
    keeps: Keeps,
    needs: Needs,
}

/// How the literals are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Exact,
    Ignored,
}

/// What may stand before the literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    Anything,
    WordStart,
}

/// What stays readable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Nothing,
    Literal,
}

/// What the body must hold besides its shape.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    Digit,
}

/// Looks around the literal that starts at the given place, reports what has to go, and says
/// up to where a further literal of the same rule would tell nothing new.
pub(crate) type Search = fn(&[u8], usize, &mut Vec<Span>) -> usize;

#[derive(Clone, Copy)]
enum Body {
    Parts(&'static [Part]),
    Search(Search),
}

/// A piece of a token's body. A run takes every byte it can, so matching never goes back.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Text(&'static str),
    /// At least this many bytes of the set.
    AtLeast(Charset, usize),
    /// Exactly this many bytes of the set, and no more of them after.
    Exactly(Charset, usize),
}

impl Rule {
    /// A token: one of the literals, then the parts.
    pub(crate) const fn token(name: &'static str, literals: &'static [&'static str], parts: &'static [Part]) -> Self {
        Self {
            name,
            literals,
            case: Case::Exact,
            edge: Edge::Anything,
            body: Body::Parts(parts),
            keeps: Keeps::Nothing,
            needs: Needs::Nothing,
        }
    }

    /// Something whose limits take code to find.
    pub(crate) const fn search(name: &'static str, literals: &'static [&'static str], search: Search) -> Self {
        let rule = Self::token(name, literals, &[]);
        Self { body: Body::Search(search), ..rule }
    }

    /// For a literal so short that it also ends ordinary words.
    pub(crate) const fn at_word_start(self) -> Self {
        Self { edge: Edge::WordStart, ..self }
    }

    pub(crate) const fn in_any_case(self) -> Self {
        Self { case: Case::Ignored, ..self }
    }

    /// The literal says what it is and is no secret: only what follows is replaced.
    pub(crate) const fn keeping_literal(self) -> Self {
        Self { keeps: Keeps::Literal, ..self }
    }

    /// For a shape that ordinary words have too.
    pub(crate) const fn with_digit(self) -> Self {
        Self { needs: Needs::Digit, ..self }
    }

    /// Whether `literal` stands at `at`.
    pub(crate) fn literal_at(&self, text: &[u8], at: usize, literal: &str) -> bool {
        let Some(found) = text.get(at..at + literal.len()) else {
            return false;
        };
        match self.case {
            Case::Exact => found == literal.as_bytes(),
            Case::Ignored => found.eq_ignore_ascii_case(literal.as_bytes()),
        }
    }

    /// Reports what has to go around the literal of `length` bytes that stands at `at`, and
    /// says up to where a further literal of this rule would tell nothing new.
    pub(crate) fn collect(&self, text: &[u8], at: usize, length: usize, spans: &mut Vec<Span>) -> usize {
        if self.edge == Edge::WordStart && !edge::starts_word(text, at) {
            return at;
        }
        match self.body {
            Body::Search(search) => search(text, at, spans),
            Body::Parts(parts) => self.collect_parts(text, at, at + length, parts, spans),
        }
    }

    fn collect_parts(&self, text: &[u8], at: usize, body: usize, parts: &[Part], spans: &mut Vec<Span>) -> usize {
        let mut end = body;
        for part in parts {
            match part.length(text.get(end..).unwrap_or_default()) {
                Some(length) => end += length,
                // A literal inside the run that matched would lead to this same place.
                None => return end,
            }
        }
        let matched = text.get(body..end).unwrap_or_default();
        if self.needs == Needs::Nothing || matched.iter().any(u8::is_ascii_digit) {
            let start = if self.keeps == Keeps::Literal { body } else { at };
            spans.push(Span::new(Kind::Format(self.name), at, start..end));
        }
        end
    }
}

impl Part {
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
