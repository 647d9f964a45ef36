//! Walks a schema and a value together and notes where they disagree.

use super::describe::{self, ValueEcho};
use super::finding::{Finding, FindingKind};
use super::{
    MAX_SCHEMA_DEPTH, MAX_VALUE_DEPTH, MAX_VIOLATIONS, MAX_WORK, combine, list, measure, number, object, order,
    reference, scalar,
};
use crate::services::dotted::PathStep;
use dispatch_contracts::suggest::nearest;
use serde_json::{Map, Number, Value};

/// The keywords of one schema.
pub(super) type Keywords = Map<String, Value>;

/// One check under way.
pub(super) struct Checker<'s> {
    root: &'s Value,
    steps: Vec<PathStep>,
    findings: Vec<Finding>,
    unlisted: usize,
    references: Vec<(&'s Value, usize)>,
    depth: usize,
    work_left: usize,
    undecided: Option<Finding>,
}

impl<'s> Checker<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self {
            root,
            steps: Vec::new(),
            findings: Vec::new(),
            unlisted: 0,
            references: Vec::new(),
            depth: 0,
            work_left: MAX_WORK,
            undecided: None,
        }
    }

    pub(super) fn run(mut self, value: &Value) -> Vec<Finding> {
        if measure::is_deeper_than(value, MAX_VALUE_DEPTH) {
            self.give_up(format!("is nested deeper than {MAX_VALUE_DEPTH} levels"));
        } else {
            self.apply(self.root, value);
        }
        let unlisted = self.unlisted;
        self.findings.extend(self.undecided);
        if unlisted > 0 {
            let message = format!("{unlisted} further problems are not listed");
            self.findings.push(Finding { steps: Vec::new(), message, hint: None, kind: FindingKind::Other });
        }
        self.findings
    }

    /// Applies one schema to one value at the present place.
    pub(super) fn apply(&mut self, schema: &'s Value, value: &Value) {
        if !self.spend(1) {
            return;
        }
        if self.depth >= MAX_SCHEMA_DEPTH {
            self.give_up(format!("needs more than {MAX_SCHEMA_DEPTH} schemas inside one another"));
            return;
        }
        self.depth += 1;
        match schema {
            Value::Bool(false) => self.note("is not allowed here".to_owned()),
            Value::Object(keywords) => self.apply_keywords(keywords, value),
            _ => {}
        }
        self.depth -= 1;
    }

    /// Applies a schema one step further down.
    pub(super) fn descend(&mut self, step: PathStep, schema: &'s Value, value: &Value) {
        if let PathStep::Key(key) = &step
            && !self.spend(measure::text(key))
        {
            return;
        }
        self.steps.push(step);
        self.apply(schema, value);
        self.steps.pop();
    }

    /// Runs `check` and hands back what it found instead of noting it.
    pub(super) fn capture(&mut self, check: impl FnOnce(&mut Self)) -> Vec<Finding> {
        let noted = std::mem::take(&mut self.findings);
        let unlisted = self.unlisted;
        check(self);
        self.unlisted = unlisted;
        std::mem::replace(&mut self.findings, noted)
    }

    /// Notes a finding once; the list stays short.
    pub(super) fn add(&mut self, finding: Finding) {
        if self.findings.contains(&finding) {
            return;
        }
        if self.findings.len() < MAX_VIOLATIONS {
            self.findings.push(finding);
        } else {
            self.unlisted += 1;
        }
    }

    /// Notes that the value at the present place is wrong in itself.
    pub(super) fn note(&mut self, message: String) {
        self.add(Finding { steps: self.steps.clone(), message, hint: None, kind: FindingKind::Other });
    }

    /// Notes something about a key of the object at the present place.
    pub(super) fn note_key(&mut self, key: &str, message: &str, hint: Option<String>) {
        let mut steps = self.steps.clone();
        steps.push(PathStep::Key(key.to_owned()));
        self.add(Finding { steps, message: message.to_owned(), hint, kind: FindingKind::Other });
    }

    /// Notes that another value was expected at the present place.
    pub(super) fn note_expected(&mut self, kind: FindingKind, value: &Value, echo: ValueEcho, hint: Option<String>) {
        let mut finding = Finding { steps: self.steps.clone(), message: String::new(), hint, kind };
        let expected = describe::either(finding.expected().unwrap_or_default());
        finding.message = format!("expected {expected}, found {}", describe::found(value, echo));
        self.add(finding);
    }

    /// Takes from the allowance; `false` when it is used up, and then nothing more is checked.
    pub(super) fn spend(&mut self, work: usize) -> bool {
        let Some(left) = self.work_left.checked_sub(work) else {
            self.work_left = 0;
            self.give_up(format!("takes more than {MAX_WORK} steps to check"));
            return false;
        };
        self.work_left = left;
        true
    }

    /// How many steps down the present place is.
    pub(super) fn place(&self) -> usize {
        self.steps.len()
    }

    /// Whether messages may repeat the value at the present place.
    pub(super) fn echo(&self, keywords: &Keywords) -> ValueEcho {
        describe::echo(keywords, &self.steps)
    }

    /// The whole check fails: an undecided part must not pass inside `not` or `anyOf`.
    fn give_up(&mut self, message: String) {
        if self.undecided.is_none() {
            self.undecided = Some(Finding { steps: self.steps.clone(), message, hint: None, kind: FindingKind::Other });
        }
    }

    fn apply_keywords(&mut self, keywords: &'s Keywords, value: &Value) {
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            self.follow(reference, value);
        }
        if !self.fits_type(keywords, value) || !self.fits_choices(keywords, value) {
            return;
        }
        match value {
            Value::Number(number) => scalar::check_number(self, keywords, number),
            Value::String(text) => scalar::check_text(self, keywords, text),
            Value::Array(items) => list::check(self, keywords, items),
            Value::Object(entries) => object::check(self, keywords, entries),
            Value::Null | Value::Bool(_) => {}
        }
        combine::check(self, keywords, value);
    }

    fn follow(&mut self, reference: &str, value: &Value) {
        let Some(schema) = reference::target(self.root, reference) else {
            self.give_up("cannot be checked: its schema refers to one that is not there".to_owned());
            return;
        };
        let place = self.steps.len();
        if self.references.iter().any(|(active, at)| *at == place && std::ptr::eq(*active, schema)) {
            self.give_up("cannot be checked: its schema refers to itself in a circle".to_owned());
            return;
        }
        self.references.push((schema, place));
        self.apply(schema, value);
        self.references.pop();
    }

    fn fits_type(&mut self, keywords: &'s Keywords, value: &Value) -> bool {
        let names: Vec<&str> = type_names(keywords.get("type"));
        if names.is_empty() || names.iter().any(|name| is_of_type(value, name)) {
            return true;
        }
        let expected = names.into_iter().map(|name| describe::type_words(name).to_owned()).collect();
        self.note_expected(FindingKind::Type(expected), value, self.echo(keywords), None);
        false
    }

    fn fits_choices(&mut self, keywords: &'s Keywords, value: &Value) -> bool {
        let listed = keywords.get("enum").and_then(Value::as_array).map(Vec::as_slice);
        for choices in [listed, keywords.get("const").map(std::slice::from_ref)].into_iter().flatten() {
            if !self.spend(choices.len().saturating_mul(measure::weight(value))) {
                return false;
            }
            if choices.iter().any(|choice| order::compare(choice, value).is_eq()) {
                continue;
            }
            let hint = value
                .as_str()
                .and_then(|text| nearest(text, choices.iter().filter_map(Value::as_str)))
                .map(|choice| format!("did you mean {}?", describe::found(&Value::from(choice), ValueEcho::Short)));
            self.note_expected(FindingKind::Choice(describe::choices(choices)), value, self.echo(keywords), hint);
            return false;
        }
        true
    }

    /// Notes a count outside its bounds.
    pub(super) fn bounds(&mut self, found: u64, least: Option<u64>, most: Option<u64>, unit: &str) {
        let units = |count: u64| if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") };
        if let Some(least) = least.filter(|least| found < *least) {
            self.note(format!("must have at least {}, found {found}", units(least)));
        }
        if let Some(most) = most.filter(|most| found > *most) {
            self.note(format!("must have at most {}, found {found}", units(most)));
        }
    }
}

/// The count that a keyword gives; `None` when it is absent or malformed.
pub(super) fn count(keywords: &Keywords, keyword: &str) -> Option<u64> {
    keywords.get(keyword)?.as_number().and_then(number::count)
}

/// The known type names of a `type` keyword; empty when it says nothing that can be checked.
pub(super) fn type_names(keyword: Option<&Value>) -> Vec<&str> {
    const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];
    let names: Option<Vec<&str>> = match keyword {
        Some(Value::String(name)) => Some(vec![name]),
        Some(Value::Array(names)) => names.iter().map(Value::as_str).collect(),
        _ => None,
    };
    names.filter(|names| names.iter().all(|name| TYPES.contains(name))).unwrap_or_default()
}

/// A number above 0.
pub(super) fn positive(keyword: Option<&Value>) -> Option<&Number> {
    keyword?.as_number().filter(|number| number::compare(number, &Number::from(0)).is_gt())
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("integer", Value::Number(number)) => number::is_whole(number),
        ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_))
        | ("null", Value::Null) => true,
        _ => false,
    }
}
