//! Exact comparison of JSON numbers, whether they are stored as integers or as floats.

use serde_json::Number;
use std::cmp::Ordering;

/// A float quotient this near to a whole number counts as whole: 0.3 is a multiple of 0.1.
const QUOTIENT_TOLERANCE: f64 = 1e-9;

/// Which number is greater; `1` and `1.0` are equal.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (integer(left), integer(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => compare_mixed(left, float(right)),
        (None, Some(right)) => compare_mixed(right, float(left)).reverse(),
        (None, None) => float(left).partial_cmp(&float(right)).unwrap_or(Ordering::Equal),
    }
}

/// Whether the number has no fraction; `1.0` has none.
pub(super) fn is_whole(number: &Number) -> bool {
    integer(number).is_some() || float(number).fract() == 0.0
}

/// A count that a keyword gives: a whole number from 0.
pub(super) fn count(number: &Number) -> Option<u64> {
    number.as_u64().or_else(|| {
        let float = float(number);
        // Above this, a float no longer names one whole number.
        (is_whole(number) && (0.0..=9_007_199_254_740_992.0).contains(&float)).then_some(float as u64)
    })
}

/// Whether `number` is a whole multiple of `step`, which must be above 0.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (integer(number), integer(step)) {
        return step != 0 && number % step == 0;
    }
    let quotient = float(number) / float(step);
    quotient.is_finite() && (quotient - quotient.round()).abs() <= QUOTIENT_TOLERANCE * quotient.abs().max(1.0)
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::NAN)
}

/// Through the whole part, because an integer above 2^53 does not survive as a float.
fn compare_mixed(left: i128, right: f64) -> Ordering {
    let whole = right.trunc();
    left.cmp(&(whole as i128)).then_with(|| 0.0_f64.partial_cmp(&(right - whole)).unwrap_or(Ordering::Equal))
}
