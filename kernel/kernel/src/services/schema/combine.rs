//! The keywords that combine schemas, and one message for many forms that did not fit.

use super::checker::{Checker, Keywords};
use super::finding::{Finding, FindingKind};
use serde_json::Value;

/// Checks `allOf`, `anyOf`, `oneOf` and `not`.
pub(super) fn check<'s>(checker: &mut Checker<'s>, keywords: &'s Keywords, value: &Value) {
    for schema in branches(keywords, "allOf") {
        checker.apply(schema, value);
    }
    any_of(checker, keywords, value);
    one_of(checker, keywords, value);
    if let Some(schema) = keywords.get("not").filter(|schema| schema.is_object() || schema.is_boolean())
        && checker.capture(|checker| checker.apply(schema, value)).is_empty()
    {
        checker.note("has a form that is not allowed here".to_owned());
    }
}

fn any_of<'s>(checker: &mut Checker<'s>, keywords: &'s Keywords, value: &Value) {
    let mut failures = Vec::new();
    for schema in branches(keywords, "anyOf") {
        let found = checker.capture(|checker| checker.apply(schema, value));
        if found.is_empty() {
            return;
        }
        failures.push(found);
    }
    report(checker, keywords, value, failures);
}

fn one_of<'s>(checker: &mut Checker<'s>, keywords: &'s Keywords, value: &Value) {
    let schemas = branches(keywords, "oneOf");
    let mut failures = Vec::new();
    for schema in schemas {
        let found = checker.capture(|checker| checker.apply(schema, value));
        if !found.is_empty() {
            failures.push(found);
        }
    }
    match schemas.len() - failures.len() {
        0 => report(checker, keywords, value, failures),
        1 => {}
        fitting => {
            checker.note(format!("fits {fitting} of the {} accepted forms, but must fit exactly one", schemas.len()))
        }
    }
}

fn branches<'s>(keywords: &'s Keywords, keyword: &str) -> &'s [Value] {
    keywords.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Says as exactly as possible why no form fitted.
fn report(checker: &mut Checker<'_>, keywords: &Keywords, value: &Value, failures: Vec<Vec<Finding>>) {
    let here = checker.place();
    let expected: Option<Vec<Vec<String>>> = failures.iter().map(|found| expected_here(found, here)).collect();
    if let Some(expected) = expected {
        if !expected.is_empty() {
            checker.note_expected(FindingKind::Type(expected.concat()), value, checker.echo(keywords), None);
        }
        return;
    }
    let count = failures.len();
    let mut meant = failures.iter().filter(|found| !found.iter().any(|finding| is_of_another_form(finding, here)));
    if let (Some(only), None) = (meant.next(), meant.next()) {
        only.iter().cloned().for_each(|finding| checker.add(finding));
        return;
    }
    let closest = failures.iter().min_by_key(|found| found.len()).and_then(|found| found.first());
    let reason = closest.map_or_else(String::new, |finding| reason(finding, here));
    checker.note(format!("fits none of the {count} accepted forms{reason}"));
}

/// What a form expected in place of the whole value.
fn expected_here(found: &[Finding], here: usize) -> Option<Vec<String>> {
    found.iter().find(|finding| finding.steps.len() == here)?.expected().map(<[String]>::to_vec)
}

/// Whether the value was plainly not meant to have this form: another type, or another tag.
fn is_of_another_form(finding: &Finding, here: usize) -> bool {
    match finding.kind {
        FindingKind::Type(_) => finding.steps.len() == here,
        FindingKind::Choice(_) => finding.steps.len() <= here + 1,
        FindingKind::Other => false,
    }
}

fn reason(finding: &Finding, here: usize) -> String {
    let below = Finding { steps: finding.steps.iter().skip(here).cloned().collect(), ..finding.clone() };
    match below.path() {
        path if path.is_empty() => format!("; the closest says: {}", finding.message),
        path => format!("; the closest says: {path} {}", finding.message),
    }
}
