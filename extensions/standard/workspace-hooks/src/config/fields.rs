//! Takes typed values out of an object of the file; whatever does not fit is reported where it stands.
//!
//! Pure.

use super::findings::Findings;
use super::json::{JsonMember, JsonNode, JsonValue, escaped, shown};
use super::keys::{ChoiceKey, FREE_PREFIX, FlagKey, NumberKey, ObjectKey, TextKey, TextListKey, WholeKey};
use dispatch_contracts::suggest::nearest;
use std::fmt::Display;
use std::ops::RangeInclusive;

/// A value that was found, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) at: usize,
    pub(crate) pointer: String,
}

impl<T> Located<T> {
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

    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), at: self.at, pointer: self.pointer }
    }
}

impl<'a> Located<&'a JsonNode> {
    pub(crate) fn of(node: &'a JsonNode, pointer: String) -> Self {
        Self { value: node, at: node.at, pointer }
    }

    /// The object that it is, or a finding.
    pub(crate) fn object(self, findings: &mut Findings) -> Option<ConfigObject<'a>> {
        match &self.value.json {
            JsonValue::Object(members) => Some(ConfigObject { members, at: self.at, pointer: self.pointer }),
            _ => self.mismatch(findings, "an object"),
        }
    }

    /// The entries of the list that it is, or a finding.
    pub(crate) fn list(self, findings: &mut Findings) -> Option<Vec<Self>> {
        match &self.value.json {
            JsonValue::List(items) => {
                let pointer = &self.pointer;
                let items = items.iter().enumerate();
                Some(items.map(|(index, node)| Self::of(node, format!("{pointer}/{index}"))).collect())
            }
            _ => self.mismatch(findings, "a list"),
        }
    }

    /// The text that it is, or a finding.
    pub(crate) fn text(self, findings: &mut Findings) -> Option<Located<&'a str>> {
        match &self.value.json {
            JsonValue::Text(text) => Some(self.map(|_| text.as_str())),
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
pub(crate) struct ConfigObject<'a> {
    pub(crate) members: &'a [JsonMember],
    pub(crate) at: usize,
    pub(crate) pointer: String,
}

impl<'a> ConfigObject<'a> {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<Located<&'a JsonNode>> {
        let member = self.members.iter().find(|member| member.key == key)?;
        Some(Located::of(&member.value, self.below(key)))
    }

    pub(crate) fn below(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, escaped(key))
    }

    /// Reports that a key is not there.
    pub(crate) fn missing(&self, findings: &mut Findings, key: &str, hint: &str) {
        findings.add_hinted(self.at, &self.pointer, "required", format!("missing key `{key}`"), hint);
    }

    pub(crate) fn text(&self, key: &TextKey, findings: &mut Findings) -> Option<Located<&'a str>> {
        self.get(key.name)?.text(findings)
    }

    pub(crate) fn flag(&self, key: &FlagKey, findings: &mut Findings) -> Option<bool> {
        let found = self.get(key.name)?;
        match found.value.json {
            JsonValue::Bool(flag) => Some(flag),
            _ => found.mismatch(findings, "true or false"),
        }
    }

    pub(crate) fn flag_or_default(&self, key: &FlagKey, findings: &mut Findings) -> bool {
        self.flag(key, findings).unwrap_or(key.default)
    }

    /// A whole number, whatever its size.
    pub(crate) fn any_whole(&self, key: &WholeKey, findings: &mut Findings) -> Option<Located<u64>> {
        let found = self.get(key.name)?;
        match &found.value.json {
            JsonValue::Number(number) => match whole(number) {
                Some(value) => Some(found.map(|_| value)),
                None => {
                    let message = format!("invalid `{}`: expected a whole number of at least 0", key.name);
                    found.wrong(findings, "type", message);
                    None
                }
            },
            _ => found.mismatch(findings, "a whole number"),
        }
    }

    /// A whole number in the range of its key.
    pub(crate) fn whole(&self, key: &WholeKey, findings: &mut Findings) -> Option<u64> {
        let found = self.any_whole(key, findings)?;
        in_range(&found, (key.name, key.rule), &key.range, findings)
    }

    pub(crate) fn whole_or_default(&self, key: &WholeKey, findings: &mut Findings) -> u64 {
        self.whole(key, findings).or(key.default).unwrap_or_default()
    }

    /// The same where the range fits into 32 bits.
    pub(crate) fn small_or_default(&self, key: &WholeKey, findings: &mut Findings) -> u32 {
        u32::try_from(self.whole_or_default(key, findings)).unwrap_or(u32::MAX)
    }

    /// A number in the range of its key.
    pub(crate) fn number(&self, key: &NumberKey, findings: &mut Findings) -> Option<f64> {
        let found = self.get(key.name)?;
        match &found.value.json {
            JsonValue::Number(number) => {
                let value = number.as_f64()?;
                in_range(&found.map(|_| value), (key.name, key.rule), &key.range, findings)
            }
            _ => found.mismatch(findings, "a number"),
        }
    }

    /// An object; keys that its shape does not have are reported.
    pub(crate) fn object(&self, key: &ObjectKey, findings: &mut Findings) -> Option<Self> {
        let object = self.get(key.name)?.object(findings)?;
        object.refuse_unknown(&key.shape.names(), findings);
        Some(object)
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&self, key: &ChoiceKey<T>, findings: &mut Findings) -> Option<T> {
        let found = self.get(key.name)?.text(findings)?;
        let chosen = key.words.iter().find(|(word, _)| *word == found.value).map(|(_, value)| *value);
        if chosen.is_none() {
            let known: Vec<&str> = key.words.iter().map(|(word, _)| *word).collect();
            let hint = match nearest(found.value, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("expected one of {}", known.join(", ")),
            };
            let message = format!("invalid `{}` `{}`", key.name, shown(found.value));
            found.wrong_hinted(findings, "choice", message, hint);
        }
        chosen
    }

    /// A list of texts, no longer than its key allows.
    pub(crate) fn texts(&self, key: &TextListKey, findings: &mut Findings) -> Option<Vec<Located<&'a str>>> {
        self.texts_at_most(key, key.most, findings)
    }

    /// A list of at most so many texts.
    pub(crate) fn texts_at_most(
        &self,
        key: &TextListKey,
        most: usize,
        findings: &mut Findings,
    ) -> Option<Vec<Located<&'a str>>> {
        let found = self.get(key.name)?;
        let (at, pointer) = (found.at, found.pointer.clone());
        let items = found.list(findings)?;
        if items.len() > most {
            let message = format!("`{}` has {} entries, more than the limit of {most}", key.name, items.len());
            findings.add(at, &pointer, "too-large", message);
            return None;
        }
        Some(items.into_iter().filter_map(|item| item.text(findings)).collect())
    }

    /// Reports every unknown key.
    pub(crate) fn refuse_unknown(&self, known: &[&str], findings: &mut Findings) {
        for member in self.members {
            let key = member.key.as_str();
            if known.contains(&key) || key.starts_with(FREE_PREFIX) {
                continue;
            }
            // Looking for what is meant takes time that a file of nonsense must not get.
            let hint = if findings.is_full() { String::new() } else { meant(key, known) };
            let message = format!("unknown key `{}`", shown(key));
            findings.add_hinted(member.key_at, &self.below(key), "unknown-key", message, hint);
        }
    }
}

fn meant(key: &str, known: &[&str]) -> String {
    if let Some((_, now)) = super::migrate::OLD_KEYS.iter().find(|(old, now)| *old == key && known.contains(now)) {
        return format!("use `{now}`");
    }
    match nearest(key, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "remove it, or start it with `x-` if it is your own key".to_owned(),
    }
}

/// The value, if it is in the range.
pub(crate) fn in_range<T: PartialOrd + Display + Copy>(
    found: &Located<T>,
    (key, rule): (&str, &'static str),
    range: &RangeInclusive<T>,
    findings: &mut Findings,
) -> Option<T> {
    if range.contains(&found.value) {
        return Some(found.value);
    }
    let message = format!("invalid `{key}` {}: expected {} to {}", found.value, range.start(), range.end());
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
