//! The keywords about numbers and text.

use super::checker::{Checker, Keywords, count, positive};
use super::{describe, measure, number};
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// A keyword that bounds a number, its words, and how a number must compare with the bound.
type NumberBound = (&'static str, &'static str, fn(Ordering) -> bool);

const BOUNDS: [NumberBound; 4] = [
    ("minimum", "at least", Ordering::is_ge),
    ("maximum", "at most", Ordering::is_le),
    ("exclusiveMinimum", "above", Ordering::is_gt),
    ("exclusiveMaximum", "below", Ordering::is_lt),
];

/// Checks the bounds of a number.
pub(super) fn check_number(checker: &mut Checker<'_>, keywords: &Keywords, value: &Number) {
    let found = describe::found(&Value::Number(value.clone()), checker.echo(keywords));
    for (keyword, words, holds) in BOUNDS {
        if let Some(Value::Number(bound)) = keywords.get(keyword)
            && !holds(number::compare(value, bound))
        {
            checker.note(format!("must be {words} {bound}, found {found}"));
        }
    }
    if let Some(step) = positive(keywords.get("multipleOf"))
        && !number::is_multiple(value, step)
    {
        checker.note(format!("must be a multiple of {step}, found {found}"));
    }
}

/// Checks the length of a text in characters.
pub(super) fn check_text(checker: &mut Checker<'_>, keywords: &Keywords, text: &str) {
    let (least, most) = (count(keywords, "minLength"), count(keywords, "maxLength"));
    if (least.is_some() || most.is_some()) && checker.spend(measure::text(text)) {
        checker.bounds(text.chars().count() as u64, least, most, "character");
    }
}
