//! One alternative of a pattern: its parts, matched against the parts of a path.
//!
//! Pure.

use crate::automaton::{SegmentAutomaton, WorkBudget, item_takes};
use crate::error::GlobError;
use crate::segment::{self, SegmentItem};

/// A part of a pattern.
#[derive(Debug, Clone)]
pub(crate) enum PatternPart {
    /// `**`: any number of parts.
    Globstar,
    /// Exactly this text.
    Literal(String),
    /// Wildcards and classes without groups.
    Wild(Vec<SegmentItem>),
    /// Anything with groups.
    Groups(SegmentAutomaton),
}

/// A part of a path.
pub(crate) struct PathPart<'p> {
    text: &'p str,
    characters: Vec<char>,
}

impl<'p> PathPart<'p> {
    /// The parts of a path; slashes that follow each other count as one.
    pub(crate) fn split(path: &'p str) -> Vec<Self> {
        let texts = split_slashes(path);
        texts.into_iter().map(|text| Self { text, characters: text.chars().collect() }).collect()
    }

    fn is_dots(&self) -> bool {
        matches!(self.text, "." | "..")
    }
}

/// The parts of one alternative, `..` and repeated `**` taken out as far as they can be.
#[derive(Debug, Clone)]
pub(crate) struct Alternative {
    parts: Vec<PatternPart>,
}

impl Alternative {
    pub(crate) fn parse(pattern: &str) -> Result<Self, GlobError> {
        let mut texts: Vec<&str> = Vec::new();
        for text in split_slashes(pattern) {
            match (text, texts.last()) {
                ("**", Some(&"**")) => {}
                ("..", Some(last)) if !matches!(*last, "" | "." | ".." | "**") => {
                    texts.pop();
                }
                _ => texts.push(text),
            }
        }
        if texts.is_empty() {
            texts.push("");
        }
        let parts: Result<_, _> = texts.into_iter().map(PatternPart::parse).collect();
        Ok(Self { parts: parts? })
    }

    pub(crate) fn parts(&self) -> &[PatternPart] {
        &self.parts
    }

    /// Whether the path matches; nothing when the work ran out.
    pub(crate) fn is_match(&self, path: &[PathPart<'_>], work: &mut WorkBudget) -> Option<bool> {
        let is_globstar = |part: &PatternPart| matches!(part, PatternPart::Globstar);
        let Some(first) = self.parts.iter().position(is_globstar) else {
            return plain_match(&self.parts, path, work);
        };
        let last = self.parts.iter().rposition(is_globstar).unwrap_or(first);
        let (head, rest) = self.parts.split_at(first);
        let tail = self.parts.get(last + 1..).unwrap_or_default();
        let body = rest.get(1..(last - first).max(1)).unwrap_or_default();
        let Some(inner) = path.get(head.len()..).filter(|_| head.len() <= path.len()) else {
            return Some(false);
        };
        if !all_match(head, path, work)? {
            return Some(false);
        }
        let Some((middle, has_tail)) = cut_tail(tail, inner, work)? else {
            return Some(false);
        };
        let sections: Vec<&[PatternPart]> = body.split(is_globstar).filter(|section| !section.is_empty()).collect();
        GlobstarSections { sections: &sections, path: middle, has_tail, tried: Vec::new() }.fit(work)
    }
}

impl PatternPart {
    fn parse(text: &str) -> Result<Self, GlobError> {
        if text == "**" {
            return Ok(Self::Globstar);
        }
        let items = segment::parse(text)?;
        Ok(match segment::literal(&items) {
            Some(literal) => Self::Literal(literal),
            None if items.iter().any(|item| matches!(item, SegmentItem::Group(..))) => {
                Self::Groups(SegmentAutomaton::new(&items))
            }
            None => Self::Wild(items),
        })
    }

    /// An empty part of a path is matched by an empty part alone.
    fn is_match(&self, path_part: &PathPart<'_>, work: &mut WorkBudget) -> Option<bool> {
        match self {
            Self::Literal(text) => Some(text == path_part.text),
            _ if path_part.text.is_empty() => Some(false),
            Self::Globstar => Some(false),
            Self::Wild(_) if path_part.is_dots() => Some(false),
            Self::Wild(items) => wild_match(items, &path_part.characters, work),
            Self::Groups(automaton) => automaton.is_match(&path_part.characters, work),
        }
    }
}

/// On failure only the last star needs to take one more character, so the work is at most items times characters.
fn wild_match(items: &[SegmentItem], characters: &[char], work: &mut WorkBudget) -> Option<bool> {
    let (mut item, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(character) = characters.get(at) {
        work.spend(1)?;
        match items.get(item) {
            Some(SegmentItem::Star) => {
                star = Some((item, at));
                item += 1;
            }
            Some(one) if item_takes(one, *character) => {
                item += 1;
                at += 1;
            }
            _ => {
                let Some((after, taken)) = star else {
                    return Some(false);
                };
                star = Some((after, taken + 1));
                item = after + 1;
                at = taken + 1;
            }
        }
    }
    Some(items.get(item..).unwrap_or_default().iter().all(|rest| *rest == SegmentItem::Star))
}

/// An alternative without `**`. A trailing slash of the path needs no counterpart.
fn plain_match(parts: &[PatternPart], path: &[PathPart<'_>], work: &mut WorkBudget) -> Option<bool> {
    let extra = path.get(parts.len()..);
    let fits = match extra {
        Some([]) => true,
        Some([only]) => only.text.is_empty(),
        _ => false,
    };
    if fits { all_match(parts, path, work) } else { Some(false) }
}

/// Whether the path begins with these parts.
fn all_match(parts: &[PatternPart], path: &[PathPart<'_>], work: &mut WorkBudget) -> Option<bool> {
    if path.len() < parts.len() {
        return Some(false);
    }
    for (part, path_part) in parts.iter().zip(path) {
        work.spend(1)?;
        if !part.is_match(path_part, work)? {
            return Some(false);
        }
    }
    Some(true)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TailMatch {
    Matched,
    None,
}

/// What is left of the path when the parts after the last `**` have taken its end.
fn cut_tail<'s, 'p>(
    tail: &[PatternPart],
    path: &'s [PathPart<'p>],
    work: &mut WorkBudget,
) -> Option<Option<(&'s [PathPart<'p>], TailMatch)>> {
    if tail.is_empty() {
        return Some(Some((path, TailMatch::None)));
    }
    let Some(start) = path.len().checked_sub(tail.len()) else {
        return Some(None);
    };
    let (middle, end) = path.split_at(start);
    if all_match(tail, end, work)? {
        return Some(Some((middle, TailMatch::Matched)));
    }
    // `a/**/*` takes `a/b/`.
    let trailing_slash = path.last().is_some_and(|path_part| path_part.text.is_empty());
    let (Some(start), true) = (start.checked_sub(1), trailing_slash) else {
        return Some(None);
    };
    let (middle, end) = path.split_at(start);
    let matched = all_match(tail, end, work)?;
    Some(matched.then_some((middle, TailMatch::Matched)))
}

/// The parts between the first and the last `**`, in runs that must be found in this order.
struct GlobstarSections<'s, 'p> {
    sections: &'s [&'s [PatternPart]],
    path: &'s [PathPart<'p>],
    has_tail: TailMatch,
    /// Places that were tried in vain: section times path.
    tried: Vec<bool>,
}

impl GlobstarSections<'_, '_> {
    fn fit(&mut self, work: &mut WorkBudget) -> Option<bool> {
        let places = (self.sections.len() + 1) * (self.path.len() + 1);
        work.spend(places)?;
        self.tried = vec![false; places];
        let mut open = vec![(0, 0)];
        while let Some((section, at)) = open.pop() {
            work.spend(1)?;
            let key = section * (self.path.len() + 1) + at;
            match self.tried.get_mut(key) {
                Some(tried) if !*tried => *tried = true,
                _ => continue,
            }
            let rest = self.path.get(at..).unwrap_or_default();
            let Some(parts) = self.sections.get(section) else {
                let enough = self.has_tail == TailMatch::Matched || !rest.is_empty();
                if enough && !rest.iter().any(PathPart::is_dots) {
                    return Some(true);
                }
                continue;
            };
            if rest.first().is_some_and(|path_part| !path_part.is_dots()) {
                open.push((section, at + 1));
            }
            if all_match(parts, rest, work)? {
                open.push((section + 1, at + parts.len()));
            }
        }
        Some(false)
    }
}

/// Splits at slashes; several in a row count as one.
fn split_slashes(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some((part, after)) = rest.split_once('/') {
        parts.push(part);
        rest = after.trim_start_matches('/');
    }
    parts.push(rest);
    parts
}
