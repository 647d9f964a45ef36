//! One part of a pattern, between two slashes, read into items.
//!
//! Pure.

use crate::class::{self, CharacterClass};
use crate::error::GlobError;

/// Groups inside groups.
pub(crate) const MAX_DEPTH: usize = 64;

/// A piece of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SegmentItem {
    /// This character.
    Char(char),
    /// Any one character.
    Any,
    /// Any number of characters.
    Star,
    /// One character of a class.
    Class(CharacterClass),
    /// Nothing matches here.
    Never,
    /// An extended glob with its alternatives.
    Group(GroupKind, Vec<Vec<SegmentItem>>),
}

/// How often a group may match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// `@(...)`
    Once,
    /// `?(...)`
    Optional,
    /// `*(...)`
    Any,
    /// `+(...)`
    Many,
    /// `!(...)`
    Not,
}

#[derive(Debug, Clone)]
enum Token {
    Item(SegmentItem),
    Open(GroupKind, char),
    Bar,
    Close,
}

/// The items of a segment.
pub(crate) fn parse(segment: &str) -> Result<Vec<SegmentItem>, GlobError> {
    // A segment that consists of one empty group is literal text.
    let grouping = !matches!(segment, "?()" | "*()" | "+()" | "@()");
    let tokens = tokenize(segment, grouping);
    let closes = pair(&tokens)?;
    let mut alternatives = build(&tokens, &closes, 0, tokens.len(), GroupNesting::Top);
    Ok(alternatives.pop().unwrap_or_default())
}

/// The text that the items stand for, if they stand for exactly one.
pub(crate) fn literal(items: &[SegmentItem]) -> Option<String> {
    items
        .iter()
        .map(|item| match item {
            SegmentItem::Char(character) => Some(*character),
            SegmentItem::Class(class) => class.single(),
            _ => None,
        })
        .collect()
}

fn tokenize(segment: &str, grouping: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = segment;
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..).unwrap_or_default();
        let kind = kind_of(character).filter(|_| grouping && after.starts_with('('));
        let mut taken = character.len_utf8();
        let token = match (character, kind) {
            (_, Some(kind)) => {
                taken += 1;
                Token::Open(kind, character)
            }
            ('\\', _) => {
                let escaped = after.chars().next();
                taken += escaped.map_or(0, char::len_utf8);
                Token::Item(SegmentItem::Char(escaped.unwrap_or('\\')))
            }
            ('[', _) => match class::parse(rest) {
                class::ParsedClass::Class(class, bytes) => {
                    taken = bytes;
                    Token::Item(SegmentItem::Class(class))
                }
                class::ParsedClass::Impossible => {
                    taken = rest.len();
                    Token::Item(SegmentItem::Never)
                }
                class::ParsedClass::Literal => Token::Item(SegmentItem::Char('[')),
            },
            ('|', _) if grouping => Token::Bar,
            (')', _) if grouping => Token::Close,
            ('*', _) => Token::Item(SegmentItem::Star),
            ('?', _) => Token::Item(SegmentItem::Any),
            _ => Token::Item(SegmentItem::Char(character)),
        };
        tokens.push(token);
        rest = rest.get(taken..).unwrap_or_default();
    }
    tokens
}

fn kind_of(character: char) -> Option<GroupKind> {
    Some(match character {
        '@' => GroupKind::Once,
        '?' => GroupKind::Optional,
        '*' => GroupKind::Any,
        '+' => GroupKind::Many,
        '!' => GroupKind::Not,
        _ => return None,
    })
}

/// For each token that opens a group, where the group closes.
fn pair(tokens: &[Token]) -> Result<Vec<Option<usize>>, GlobError> {
    let mut closes = vec![None; tokens.len()];
    let mut opened = Vec::new();
    let mut deepest = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Open(..) => opened.push(at),
            Token::Close => {
                deepest = deepest.max(opened.len());
                if let Some(close) = opened.pop().and_then(|open| closes.get_mut(open)) {
                    *close = Some(at);
                }
            }
            _ => {}
        }
    }
    if deepest > MAX_DEPTH { Err(GlobError::TooDeep) } else { Ok(closes) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupNesting {
    Top,
    Group,
}

fn build(
    tokens: &[Token],
    closes: &[Option<usize>],
    from: usize,
    to: usize,
    place: GroupNesting,
) -> Vec<Vec<SegmentItem>> {
    let mut done = Vec::new();
    let mut items = Vec::new();
    let mut at = from;
    while at < to {
        let close = closes.get(at).copied().flatten();
        match (tokens.get(at), close) {
            (Some(Token::Open(kind, _)), Some(close)) => {
                items.push(SegmentItem::Group(*kind, build(tokens, closes, at + 1, close, GroupNesting::Group)));
                at = close;
            }
            (Some(Token::Open(_, character)), None) => {
                items.extend([SegmentItem::Char(*character), SegmentItem::Char('(')])
            }
            (Some(Token::Bar), _) if place == GroupNesting::Group => done.push(std::mem::take(&mut items)),
            (Some(Token::Bar), _) => items.push(SegmentItem::Char('|')),
            (Some(Token::Close), _) => items.push(SegmentItem::Char(')')),
            (Some(Token::Item(item)), _) => items.push(item.clone()),
            (None, _) => break,
        }
        at += 1;
    }
    done.push(items);
    done
}
