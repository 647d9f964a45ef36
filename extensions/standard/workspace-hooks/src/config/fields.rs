//! Takes typed values out of an object of the file; whatever does not fit is reported where it stands.

use super::findings::Findings;
use super::json::{Json, Member, Node, escaped, shown};
use dispatch_contracts::suggest::nearest;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Keys that start so are free.
pub(crate) const FREE_PREFIX: &str = "x-";

/// A value that was found, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Found<T> {
    pub(crate) value: T,
    pub(crate) at: usize,
    pub(crate) pointer: String,
}

impl<T> Found<T> {
    pub(crate) fn wrong(&self, findings: &mut Findings, rule: &'static str, message: impl Into<String>) {
        findings.add(self.at, &self.pointer, rule, message);
    }

    pub(crate) fn wrong_hinted(
        &self,
        findings: &mut Findings,
        rule: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        findings.add_hinted(self.at, &self.pointer, rule, message, hint);
    }

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Found<U> {
        Found { value: change(self.value), at: self.at, pointer: self.pointer }
    }
}

impl<'a> Found<&'a Node> {
    pub(crate) fn of(node: &'a Node, pointer: String) -> Self {
        Self { value: node, at: node.at, pointer }
    }

    /// The object that it is, or a finding.
    pub(crate) fn object(self, findings: &mut Findings) -> Option<Object<'a>> {
        match &self.value.json {
            Json::Object(members) => Some(Object { members, at: self.at, pointer: self.pointer }),
            _ => self.mismatch(findings, "an object"),
        }
    }

    /// The entries of the list that it is, or a finding.
    pub(crate) fn list(self, findings: &mut Findings) -> Option<Vec<Self>> {
        match &self.value.json {
            Json::List(items) => {
                let pointer = &self.pointer;
                let items = items.iter().enumerate();
                Some(items.map(|(index, node)| Self::of(node, format!("{pointer}/{index}"))).collect())
            }
            _ => self.mismatch(findings, "a list"),
        }
    }

    /// The text that it is, or a finding.
    pub(crate) fn text(self, findings: &mut Findings) -> Option<Found<&'a str>> {
        match &self.value.json {
            Json::Text(text) => Some(self.map(|_| text.as_str())),
            _ => self.mismatch(findings, "a text"),
        }
    }

    fn mismatch<T>(&self, findings: &mut Findings, expected: &str) -> Option<T> {
        let message = format!("expected {expected}, found {}", self.value.kind());
        findings.add(self.at, &self.pointer, "type", message);
        None
    }
}

/// An object of the file.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    pub(crate) members: &'a [Member],
    pub(crate) at: usize,
    pub(crate) pointer: String,
}

impl<'a> Object<'a> {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Found<&'a Node>> {
        let member = self.members.iter().find(|member| member.key == key)?;
        Some(Found::of(&member.value, self.below(key)))
    }

    pub(crate) fn below(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, escaped(key))
    }

    /// Reports that a key is not there.
    pub(crate) fn missing(&self, findings: &mut Findings, key: &str, hint: &str) {
        findings.add_hinted(self.at, &self.pointer, "required", format!("`{key}` is missing"), hint);
    }

    pub(crate) fn text(&self, key: &str, findings: &mut Findings) -> Option<Found<&'a str>> {
        self.get(key)?.text(findings)
    }

    pub(crate) fn flag(&self, key: &str, findings: &mut Findings) -> Option<bool> {
        let found = self.get(key)?;
        match found.value.json {
            Json::Bool(flag) => Some(flag),
            _ => found.mismatch(findings, "true or false"),
        }
    }

    /// A whole number, whatever its size.
    pub(crate) fn whole(&self, key: &str, findings: &mut Findings) -> Option<Found<u64>> {
        let found = self.get(key)?;
        match &found.value.json {
            Json::Number(number) => match whole(number) {
                Some(value) => Some(found.map(|_| value)),
                None => {
                    let message = format!("`{key}` takes a whole number that is not below 0");
                    found.wrong(findings, "type", message);
                    None
                }
            },
            _ => found.mismatch(findings, "a whole number"),
        }
    }

    /// A whole number in a range.
    pub(crate) fn whole_in(
        &self,
        key: &str,
        range: &RangeInclusive<u64>,
        rule: &'static str,
        findings: &mut Findings,
    ) -> Option<u64> {
        let found = self.whole(key, findings)?;
        in_range(&found, key, range, rule, findings)
    }

    /// A number in a range.
    pub(crate) fn number_in(
        &self,
        key: &str,
        range: &RangeInclusive<f64>,
        rule: &'static str,
        findings: &mut Findings,
    ) -> Option<f64> {
        let found = self.get(key)?;
        match &found.value.json {
            Json::Number(number) => {
                let value = number.as_f64()?;
                in_range(&found.map(|_| value), key, range, rule, findings)
            }
            _ => found.mismatch(findings, "a number"),
        }
    }

    pub(crate) fn object(&self, key: &str, findings: &mut Findings) -> Option<Self> {
        self.get(key)?.object(findings)
    }

    /// A list of at most so many texts.
    pub(crate) fn texts(&self, key: &str, most: usize, findings: &mut Findings) -> Option<Vec<Found<&'a str>>> {
        let found = self.get(key)?;
        let (at, pointer) = (found.at, found.pointer.clone());
        let items = found.list(findings)?;
        if items.len() > most {
            findings.add(
                at,
                &pointer,
                "too-large",
                format!("`{key}` has {} entries; {most} are the most", items.len()),
            );
            return None;
        }
        Some(items.into_iter().filter_map(|item| item.text(findings)).collect())
    }

    /// Reports every key that nobody reads.
    pub(crate) fn refuse_unknown(&self, known: &[&str], findings: &mut Findings) {
        for member in self.members {
            let key = member.key.as_str();
            if known.contains(&key) || key.starts_with(FREE_PREFIX) {
                continue;
            }
            // Looking for what is meant takes time that a file of nonsense must not get.
            let hint = if findings.is_full() { String::new() } else { meant(key, known) };
            let message = format!("nobody reads the key `{}`", shown(key));
            findings.add_hinted(member.key_at, &self.below(key), "unknown-key", message, hint);
        }
    }
}

fn meant(key: &str, known: &[&str]) -> String {
    if let Some((_, now)) = super::migrate::OLD_KEYS.iter().find(|(old, now)| *old == key && known.contains(now)) {
        return format!("it is called `{now}`");
    }
    match nearest(key, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "remove it, or let it start with `x-` if it is your own".to_owned(),
    }
}

/// The value, if it is in the range.
pub(crate) fn in_range<T: PartialOrd + Display + Copy>(
    found: &Found<T>,
    key: &str,
    range: &RangeInclusive<T>,
    rule: &'static str,
    findings: &mut Findings,
) -> Option<T> {
    if range.contains(&found.value) {
        return Some(found.value);
    }
    let message = format!("`{key}` is {}; it goes from {} to {}", found.value, range.start(), range.end());
    found.wrong(findings, rule, message);
    None
}

/// `4`, and `4.0`, which some programs write for it.
fn whole(number: &serde_json::Number) -> Option<u64> {
    const MOST_EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_u64().or_else(|| {
        let value = number.as_f64().filter(|value| value.fract() == 0.0 && (0.0..=MOST_EXACT).contains(value))?;
        format!("{value:.0}").parse().ok()
    })
}
