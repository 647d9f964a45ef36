//! The keywords about lists.

use super::checker::{Checker, Keywords, count};
use super::{measure, order};
use crate::services::dotted::PathStep;
use serde_json::Value;

/// Checks the items of a list and how many there are.
pub(super) fn check<'s>(checker: &mut Checker<'s>, keywords: &'s Keywords, items: &[Value]) {
    checker.bounds(items.len() as u64, count(keywords, "minItems"), count(keywords, "maxItems"), "item");
    let leading = keywords.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (index, (schema, item)) in leading.iter().zip(items).enumerate() {
        checker.descend(PathStep::Index(index), schema, item);
    }
    if let Some(schema) = keywords.get("items") {
        for (index, item) in items.iter().enumerate().skip(leading.len()) {
            checker.descend(PathStep::Index(index), schema, item);
        }
    }
    if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
        check_unique(checker, items);
    }
}

fn check_unique(checker: &mut Checker<'_>, items: &[Value]) {
    // Each item takes part in about log2(n) comparisons while sorting.
    let rounds = items.len().checked_ilog2().unwrap_or(0) as usize + 1;
    let weight = items.iter().map(measure::weight).fold(0, usize::saturating_add);
    if !checker.spend(weight.saturating_mul(rounds)) {
        return;
    }
    if let Some((first, second)) = order::equal_items(items) {
        checker.note(format!("must not hold an item twice, but [{first}] and [{second}] are equal"));
    }
}
