//! Expands `{a,b}` and `{1..3}` over the tokens of a word.
//!
//! Pure.

use super::lexer::Token;
use super::limits::MAX_FIELDS;

/// Nested braces beyond this depth stay as written and make the word unknown.
const MAX_BRACE_DEPTH: usize = 8;

/// The words that brace expansion makes of one word; `None` if there are too many.
pub(super) fn expand(tokens: Vec<Token>) -> Option<Vec<Vec<Token>>> {
    if !tokens.iter().any(|token| token.is_bare('{')) {
        return Some(vec![tokens]);
    }
    expand_from(&tokens, 0)
}

fn expand_from(tokens: &[Token], depth: usize) -> Option<Vec<Vec<Token>>> {
    if depth > MAX_BRACE_DEPTH {
        return None;
    }
    let Some((open, close, parts)) = first_group(tokens) else {
        return Some(vec![tokens.to_vec()]);
    };
    let tails = expand_from(&tokens[close + 1..], depth)?;
    let mut words = Vec::new();
    for part in parts {
        for middle in expand_from(&part, depth + 1)? {
            for tail in &tails {
                if words.len() >= MAX_FIELDS {
                    return None;
                }
                words.push([&tokens[..open], &middle, tail].concat());
            }
        }
    }
    Some(words)
}

/// The first brace group that expands: where it opens and closes, and its alternatives.
fn first_group(tokens: &[Token]) -> Option<(usize, usize, Vec<Vec<Token>>)> {
    let opens = (0..tokens.len()).filter(|index| tokens[*index].is_bare('{'));
    // Each candidate scans to the end of the word, so only so many are tried.
    opens.take(MAX_FIELDS).find_map(|open| {
        let close = closing(tokens, open)?;
        let inner = &tokens[open + 1..close];
        let parts = alternatives(inner).or_else(|| sequence(inner))?;
        Some((open, close, parts))
    })
}

fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        if token.is_bare('{') {
            depth += 1;
        } else if token.is_bare('}') {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

fn alternatives(inner: &[Token]) -> Option<Vec<Vec<Token>>> {
    let mut parts = vec![Vec::new()];
    let mut depth = 0_usize;
    for token in inner {
        if token.is_bare(',') && depth == 0 {
            parts.push(Vec::new());
            continue;
        }
        if token.is_bare('{') {
            depth += 1;
        } else if token.is_bare('}') {
            depth = depth.saturating_sub(1);
        }
        if let Some(part) = parts.last_mut() {
            part.push(token.clone());
        }
    }
    (parts.len() > 1).then_some(parts)
}

fn sequence(inner: &[Token]) -> Option<Vec<Vec<Token>>> {
    let text: Option<String> = inner.iter().map(Token::bare_char).collect();
    let text = text?;
    let mut ends = text.split("..");
    let (first, last) = (ends.next()?, ends.next()?);
    let step: i64 = ends.next().map_or(Some(1), |step| step.parse().ok())?;
    let step = step.checked_abs()?.max(1);
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let width = [first, last].iter().map(|n| n.to_string().len()).max()?;
        let padded = [text.split("..").next()?, text.split("..").nth(1)?]
            .iter()
            .any(|end| end.trim_start_matches('-').len() > 1 && end.trim_start_matches('-').starts_with('0'));
        let width = if padded { width.max(text.split("..").map(str::len).max()?) } else { 0 };
        return counted(first, last, step, |n| format!("{n:0width$}"));
    }
    let (first, last) = (one_char(first)?, one_char(last)?);
    counted(first, last, step, |n| u32::try_from(n).ok().and_then(char::from_u32).map(String::from).unwrap_or_default())
}

fn one_char(text: &str) -> Option<i64> {
    let mut chars = text.chars();
    let c = chars.next()?;
    (c.is_ascii_alphabetic() && chars.next().is_none()).then(|| i64::from(u32::from(c)))
}

fn counted(first: i64, last: i64, step: i64, show: impl Fn(i64) -> String) -> Option<Vec<Vec<Token>>> {
    let mut words = Vec::new();
    let mut at = first;
    while (first <= last && at <= last) || (first > last && at >= last) {
        // One word too many makes the caller give up instead of the list being cut.
        if words.len() > MAX_FIELDS {
            break;
        }
        words.push(show(at).chars().map(|c| Token::Char { c, quoted: false }).collect());
        at = if first <= last { at.checked_add(step)? } else { at.checked_sub(step)? };
    }
    Some(words)
}
