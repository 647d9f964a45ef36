//! Brace expansion: one pattern with `{a,b}` and `{1..3}` becomes several patterns without.
//!
//! Pure.

mod sequence;

use crate::error::GlobError;

/// Patterns that one pattern may expand to.
pub(crate) const MAX_ALTERNATIVES: usize = 4096;
/// Characters of all alternatives together.
pub(crate) const MAX_EXPANDED_CHARS: usize = 256 * 1024;
/// Braces inside braces.
const MAX_DEPTH: usize = 64;
/// How often a lone `{a}` before `,b}` lets the scan start again.
const MAX_RESTARTS: usize = 256;

/// One character, and whether a backslash took its meaning for braces away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BraceChar {
    Plain(char),
    Escaped(char),
}

use BraceChar::{Escaped, Plain};
use sequence::BraceSequence;

type BraceText = Vec<BraceChar>;

/// The alternatives of a pattern; the pattern itself if it has no braces that expand.
pub(crate) fn expand(pattern: &str) -> Result<Vec<String>, GlobError> {
    if !has_group(pattern) {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut units = escape(pattern);
    // As in bash, a leading `{}` stands for itself.
    if let [Plain('{'), Plain('}'), rest @ ..] = units.as_slice() {
        units = [Escaped('{'), Escaped('}')].iter().chain(rest).copied().collect();
    }
    let expanded = expand_units(units, 0, BraceLevel::Top)?;
    Ok(expanded.iter().map(|text| unescape(text)).collect())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BraceLevel {
    Top,
    Inner,
}

/// Whether a `{` is followed on the same line by a `}` with no other `{` between them.
fn has_group(pattern: &str) -> bool {
    let mut open = false;
    for character in pattern.chars() {
        match character {
            '{' => open = true,
            '}' if open => return true,
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => open = false,
            _ => {}
        }
    }
    false
}

fn escape(pattern: &str) -> BraceText {
    let mut units = Vec::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some(&next @ ('\\' | '{' | '}' | ',' | '.'))) => {
                units.push(Escaped(next));
                characters.next();
            }
            _ => units.push(Plain(character)),
        }
    }
    units
}

fn unescape(text: &[BraceChar]) -> String {
    text.iter()
        .map(|unit| match unit {
            Plain(character) | Escaped(character) => *character,
        })
        .collect()
}

/// Takes the groups of a text from left to right and combines what they stand for.
fn expand_units(text: BraceText, depth: usize, level: BraceLevel) -> Result<Vec<BraceText>, GlobError> {
    if depth > MAX_DEPTH {
        return Err(GlobError::TooDeep);
    }
    let mut text = text;
    let mut level = level;
    let mut restarts = 0;
    let mut first_group = true;
    let mut drop_empty = false;
    let mut found = vec![BraceText::new()];
    loop {
        let Some(group) = balanced(&text) else {
            return combine(&found, &text, &[BraceText::new()], drop_empty);
        };
        let (before, body, after) = group.cut(&text);
        let last = drop_empty && after.is_empty();
        if before.last() == Some(&Plain('$')) {
            let literal = text.get(..=group.close).unwrap_or_default();
            found = combine(&found, literal, &[BraceText::new()], last)?;
            first_group = false;
        } else {
            let sequence = BraceSequence::parse(body);
            if sequence.is_none() && !body.contains(&Plain(',')) {
                if restarts < MAX_RESTARTS && closes_later(after) {
                    restarts += 1;
                    level = BraceLevel::Top;
                    if let Some(close) = text.get_mut(group.close) {
                        *close = Escaped('}');
                    }
                    continue;
                }
                return combine(&found, &text, &[BraceText::new()], drop_empty);
            }
            if first_group {
                drop_empty = level == BraceLevel::Top && sequence.is_none();
                first_group = false;
            }
            let last = drop_empty && after.is_empty();
            let values = match sequence {
                Some(sequence) => sequence.values()?,
                None => members(body, depth)?,
            };
            found = combine(&found, before, &values, last)?;
        }
        if after.is_empty() {
            return Ok(found);
        }
        text = after.to_vec();
    }
}

/// What the members of a comma list stand for.
fn members(body: &[BraceChar], depth: usize) -> Result<Vec<BraceText>, GlobError> {
    let mut parts = split_members(body);
    if let [only] = parts.as_slice() {
        // `{{a,b}}` is `{a}` and `{b}`.
        parts = expand_units(only.clone(), depth + 1, BraceLevel::Inner)?.into_iter().map(embrace).collect();
        if parts.len() == 1 {
            return Ok(parts);
        }
    }
    let mut values = Vec::new();
    for part in parts {
        values.extend(expand_units(part, depth + 1, BraceLevel::Inner)?);
        if values.len() > MAX_ALTERNATIVES {
            return Err(GlobError::TooManyAlternatives);
        }
    }
    Ok(values)
}

fn embrace(text: BraceText) -> BraceText {
    [Plain('{')].into_iter().chain(text).chain([Plain('}')]).collect()
}

/// Splits at commas that stand in no group.
fn split_members(body: &[BraceChar]) -> Vec<BraceText> {
    let mut parts = vec![BraceText::new()];
    let mut rest = body;
    loop {
        let group = balanced(rest);
        let (before, grouped, after) = match &group {
            Some(group) => {
                let (before, _, after) = group.cut(rest);
                (before, rest.get(group.open..=group.close).unwrap_or_default(), after)
            }
            None => (rest, &[][..], &[][..]),
        };
        for unit in before {
            match (unit, parts.last_mut()) {
                (Plain(','), _) | (_, None) => parts.push(BraceText::new()),
                (unit, Some(part)) => part.push(*unit),
            }
        }
        if let Some(part) = parts.last_mut() {
            part.extend(grouped);
        }
        if after.is_empty() {
            return parts;
        }
        rest = after;
    }
}

/// Whether `,x}` follows, which makes the braces before it part of a list after all.
fn closes_later(after: &[BraceChar]) -> bool {
    let is_break = |unit: &BraceChar| matches!(unit, Plain('\n' | '\r' | '\u{2028}' | '\u{2029}'));
    after.split(is_break).any(|line| {
        let comma = line
            .iter()
            .enumerate()
            .position(|(at, unit)| *unit == Plain(',') && line.get(at + 1).is_some_and(|next| *next != Plain(',')));
        comma.is_some_and(|comma| line.get(comma + 1..).unwrap_or_default().contains(&Plain('}')))
    })
}

fn combine(
    found: &[BraceText],
    before: &[BraceChar],
    values: &[BraceText],
    drop_empty: bool,
) -> Result<Vec<BraceText>, GlobError> {
    let mut combined = Vec::new();
    let mut chars = 0;
    for start in found {
        for value in values {
            let text: BraceText = start.iter().chain(before).chain(value).copied().collect();
            if drop_empty && text.is_empty() {
                continue;
            }
            chars += text.len();
            if combined.len() >= MAX_ALTERNATIVES || chars > MAX_EXPANDED_CHARS {
                return Err(GlobError::TooManyAlternatives);
            }
            combined.push(text);
        }
    }
    Ok(combined)
}

/// The places of an opening brace and of the one that closes it.
struct BraceGroup {
    open: usize,
    close: usize,
}

impl BraceGroup {
    fn cut<'t>(&self, text: &'t [BraceChar]) -> (&'t [BraceChar], &'t [BraceChar], &'t [BraceChar]) {
        let before = text.get(..self.open).unwrap_or_default();
        let body = text.get(self.open + 1..self.close).unwrap_or_default();
        (before, body, text.get(self.close + 1..).unwrap_or_default())
    }
}

/// The first group that is closed; with braces left open before it, the leftmost closed one inside.
fn balanced(text: &[BraceChar]) -> Option<BraceGroup> {
    let mut opened = Vec::new();
    let mut leftmost: Option<BraceGroup> = None;
    for (at, unit) in text.iter().enumerate() {
        match unit {
            Plain('{') => opened.push(at),
            Plain('}') => {
                let Some(open) = opened.pop() else {
                    continue;
                };
                if opened.is_empty() {
                    return Some(BraceGroup { open, close: at });
                }
                if leftmost.as_ref().is_none_or(|group| open < group.open) {
                    leftmost = Some(BraceGroup { open, close: at });
                }
            }
            _ => {}
        }
    }
    leftmost
}
