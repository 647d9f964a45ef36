//! Keeps secrets in: everything that leaves an attempt goes through here first.

use super::RunnerPorts;
use super::output::cut;
use crate::contract::{Hook, Runner};
use dispatch_os::environment;
use dispatch_redact::limits::MAX_USER_PATTERN_BYTES;
use dispatch_redact::{Options, RedactError, Redactor, UserPattern};
use serde_json::{Value, json};
use std::sync::Arc;

/// The longest sentence that says why an attempt ended as it did.
const MAX_SENTENCE_CHARS: usize = 400;
/// A shorter value of a variable says too little to be looked for in a text.
const MIN_CREDENTIAL_BYTES: usize = 8;
/// From this length on, a value that looks like no word and no path is taken for a credential.
const MIN_OPAQUE_BYTES: usize = 16;
/// A variable with one of these in its name holds a credential.
const TELLING_WORDS: [&str; 8] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"];
/// So much of a long value is looked for; what follows it up to a blank goes with it.
const LOOKED_FOR_BYTES: usize = 256;

/// What takes secrets out of the texts of one attempt.
pub(super) struct OutputRedactor {
    redactor: Arc<Redactor>,
}

impl OutputRedactor {
    /// The built-in forms, the user's, the hook's, and the values of the variables that the hook hands on.
    pub(super) fn of(ports: &RunnerPorts, hook: &Hook) -> Result<Self, RedactError> {
        let values = handed_on(hook).into_iter().filter_map(|(name, value)| exact(&name, &value)).collect();
        Self::with(ports, &hook.secret_patterns, values)
    }

    pub(super) fn with(ports: &RunnerPorts, own: &[String], values: Vec<UserPattern>) -> Result<Self, RedactError> {
        let mut patterns = ports.patterns.clone();
        let own = own.iter().enumerate();
        patterns.extend(own.map(|(index, regex)| UserPattern::new(format!("secretPatterns[{index}]"), regex)));
        patterns.extend(values);
        let options = Options { patterns, allowed: ports.allowed.clone(), ..Options::default() };
        Ok(Self { redactor: Arc::new(Redactor::new(options)?) })
    }

    /// For output that comes in pieces.
    pub(super) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    /// A text of any length without its secrets.
    pub(super) fn clean(&self, text: &str) -> String {
        self.redactor.redact(text).into_owned()
    }

    /// A text without its secrets, cut to the size that is kept.
    pub(super) fn output(&self, text: &str) -> String {
        cut(&self.clean(text))
    }

    /// One line for people.
    pub(super) fn sentence(&self, text: &str) -> String {
        let clean = self.clean(text);
        let mut line = String::new();
        for (count, character) in clean.split_whitespace().flat_map(|word| [" ", word]).flat_map(str::chars).enumerate()
        {
            if count > MAX_SENTENCE_CHARS {
                line.push_str("...");
                break;
            }
            line.push(if character.is_control() { '?' } else { character });
        }
        line.trim_start().to_owned()
    }

    /// Facts without their secrets.
    pub(super) fn json(&self, mut value: Value) -> Value {
        self.redactor.redact_json(&mut value);
        value
    }
}

/// The variables whose values the work of a hook gets to see, where they look like credentials.
fn handed_on(hook: &Hook) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let asked = hook.pass_env.iter().map(|name| (name.as_str(), false));
    let login = match &hook.runner {
        Runner::External(called) => super::known_agent(&called.name).map_or(&[][..], |template| template.login),
        _ => &[],
    };
    for (name, certain) in asked.chain(login.iter().map(|name| (*name, true))) {
        if let Some(value) = value_of(name)
            && (certain || is_credential(name, &value))
        {
            found.push((name.to_owned(), value));
        }
    }
    if let Runner::Http { headers, .. } = &hook.runner {
        let names = headers.values().flat_map(|value| super::http::variables(value));
        found.extend(names.filter_map(|name| Some((name.to_owned(), value_of(name)?))));
    }
    found
}

fn value_of(name: &str) -> Option<String> {
    let value = environment::variable_os(name)?.to_str()?.trim().to_owned();
    (value.len() >= MIN_CREDENTIAL_BYTES).then_some(value)
}

/// By its name, or because it does not look like a word, path or sentence.
fn is_credential(name: &str, value: &str) -> bool {
    let telling = |word: &str| TELLING_WORDS.contains(&word.to_ascii_uppercase().as_str());
    if name.split('_').any(telling) {
        return true;
    }
    let mut named = json!({ name: value });
    Redactor::builtin().redact_json(&mut named);
    if named.get(name).and_then(Value::as_str) != Some(value) {
        return true;
    }
    let plain = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'\\' | b':' | b',' | b';');
    value.len() >= MIN_OPAQUE_BYTES
        && !value.bytes().any(plain)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// A pattern that finds exactly this value; the beginning of a long one, and what hangs on to it.
fn exact(name: &str, value: &str) -> Option<UserPattern> {
    let line = value.lines().next().unwrap_or_default();
    let end = (0..=LOOKED_FOR_BYTES.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    let start = line.get(..end).filter(|start| start.len() >= MIN_CREDENTIAL_BYTES)?;
    let rest = if start.len() < value.len() { r"\S*" } else { "" };
    let regex = format!("{}{rest}", regex::escape(start));
    (regex.len() <= MAX_USER_PATTERN_BYTES).then(|| UserPattern::new(format!("the value of {name}"), regex))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_told_from_settings() {
        for (name, value, expected) in [
            ("ACME_TOKEN", "q8Zr4tVw1xYz", true),
            ("DB_PASSWORD", "correct-horse-battery", true),
            ("CANARY", "canary-7f3a9c1e5b2d", true),
            ("GOPATH", "/home/dev/go/1.2.3/somewhere", false),
            ("NODE_ENV", "production", false),
            ("PROXY", "http://proxy.example:8080", false),
            ("TITLE", "a sentence with 3 words in it", false),
        ] {
            assert_eq!(is_credential(name, value), expected, "{name}");
        }
    }

    #[test]
    fn a_value_is_found_whatever_characters_it_has() {
        for value in ["a+b*c(d[e", "plain-value-1", "tail\\$^|{}"] {
            let options = Options { patterns: vec![exact("X", value).unwrap()], ..Options::default() };
            let text = Redactor::new(options).unwrap().redact(&format!("before {value} after")).into_owned();
            assert_eq!(text, "before [REDACTED] after");
        }
        let long = "x1".repeat(4_000);
        let options = Options { patterns: vec![exact("X", &long).unwrap()], ..Options::default() };
        assert_eq!(Redactor::new(options).unwrap().redact(&format!("a {long} b")), "a [REDACTED] b");
        assert!(exact("X", "short").is_none());
    }
}
