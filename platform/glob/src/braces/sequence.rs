//! Ranges in braces: numbers and letters that count up or down.
//!
//! Pure.

use super::{BraceChar, BraceText, MAX_ALTERNATIVES};
use crate::error::GlobError;

use BraceChar::{Escaped, Plain};

/// `1..9`, `a..e`, with a step behind another `..`.
pub(super) struct BraceSequence {
    from: i64,
    to: i64,
    step: i64,
    letters: bool,
    /// Digits to fill up to, if one end is written with leading zeros.
    width: usize,
}

impl BraceSequence {
    pub(super) fn parse(body: &[BraceChar]) -> Option<Self> {
        let plain: Option<String> = body
            .iter()
            .map(|unit| match unit {
                Plain(character) => Some(*character),
                Escaped(_) => None,
            })
            .collect();
        let plain = plain?;
        let mut parts = plain.split("..");
        let (from, to, step) = (parts.next()?, parts.next()?, parts.next());
        if parts.next().is_some() || step.is_some_and(|step| !is_number(step)) {
            return None;
        }
        let letters = is_letter(from) && is_letter(to);
        let numbers = is_number(from) && is_number(to);
        if !(letters || numbers) {
            return None;
        }
        let padded = [Some(from), Some(to), step].into_iter().flatten().any(is_padded);
        Some(Self {
            from: place(from),
            to: place(to),
            step: step.map_or(1, |step| place(step).saturating_abs().max(1)),
            letters,
            width: if padded { from.len().max(to.len()) } else { 0 },
        })
    }

    pub(super) fn values(&self) -> Result<Vec<BraceText>, GlobError> {
        let mut values = Vec::new();
        let mut at = self.from;
        let down = self.to < self.from;
        while if down { at >= self.to } else { at <= self.to } {
            if values.len() >= MAX_ALTERNATIVES {
                return Err(GlobError::TooManyAlternatives);
            }
            values.push(self.value(at));
            let next = if down { at.checked_sub(self.step) } else { at.checked_add(self.step) };
            let Some(next) = next else {
                break;
            };
            at = next;
        }
        Ok(values)
    }

    fn value(&self, at: i64) -> BraceText {
        if self.letters {
            let letter = u32::try_from(at).ok().and_then(char::from_u32).filter(|letter| *letter != '\\');
            return letter.into_iter().map(Plain).collect();
        }
        let sign = if at < 0 { "-" } else { "" };
        let digits = self.width.saturating_sub(sign.len());
        let text = format!("{sign}{:0>digits$}", at.unsigned_abs());
        text.chars().map(Plain).collect()
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_letter(text: &str) -> bool {
    matches!(text.as_bytes(), [letter] if letter.is_ascii_alphabetic())
}

fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    matches!(digits.as_bytes(), [b'0', second, ..] if second.is_ascii_digit())
}

/// The number, at the edge of the range where it does not fit; a letter's code.
fn place(text: &str) -> i64 {
    match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => i64::from(*letter),
        _ => text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }),
    }
}
