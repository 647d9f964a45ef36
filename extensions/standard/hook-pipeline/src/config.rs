//! `config.json`: one section per module and a few settings of the pipeline itself. No mistake in it blocks.

mod loosening;

use std::path::Path;

use dispatch_os::files::read_at_most;
use dispatch_redact::{Allowed, Compile, Options, Redactor, UserPattern};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::session_settings::SessionSettings;

/// The largest configuration that is read.
pub(crate) const CONFIG_LIMIT_BYTES: u64 = 1024 * 1024;

/// Where the settings about sessions are.
const SESSION_SECTION: &str = "session";

/// What `p.jsonl` keeps of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptAudit {
    /// The text, redacted.
    #[default]
    Text,
    /// Only its hash.
    Hash,
}

/// The configuration in force.
#[derive(Debug, Default)]
pub struct Config {
    sections: Map<String, Value>,
    /// What is kept of prompts.
    pub prompts: PromptAudit,
    redact: Redaction,
}

/// Secrets of the user's own.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Redaction {
    patterns: Vec<PatternEntry>,
    allow: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum PatternEntry {
    Regex(String),
    Named {
        #[serde(default)]
        name: String,
        regex: String,
        #[serde(default)]
        keywords: Vec<String>,
    },
}

impl Config {
    /// Reads the configuration. Whatever is wrong with it is told, and the default stands in its place.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> (Self, Vec<String>) {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let sections = match serde_json::from_slice(text) {
            Ok(Value::Object(sections)) => sections,
            Ok(_) => return (Self::default(), vec!["the configuration is not an object".to_owned()]),
            Err(error) => return (Self::default(), vec![format!("the configuration is not JSON: {error}")]),
        };
        let mut problems = Vec::new();
        let prompts = sections.get("prompts").or_else(|| sections.get(SESSION_SECTION)?.get("prompts"));
        let prompts = part(prompts, "prompts", &mut problems);
        let redact = part(sections.get("redact"), "redact", &mut problems);
        (Self { prompts, redact, sections }, problems)
    }

    /// The configuration in a file, or the defaults, with what is wrong with it.
    #[must_use]
    pub fn load(path: &Path) -> (Self, Vec<String>) {
        read_or_default(path, CONFIG_LIMIT_BYTES, Self::parse)
    }

    /// What is set about sessions; the defaults where that cannot be used.
    pub(crate) fn session(&self) -> SessionSettings {
        let section = self.section(SESSION_SECTION);
        if section.is_null() {
            return SessionSettings::default();
        }
        SessionSettings::deserialize(section).unwrap_or_default()
    }

    /// The section of a module; `null` if it has none.
    #[must_use]
    pub fn section(&self, module: &str) -> &Value {
        self.sections.get(module).unwrap_or(&Value::Null)
    }

    /// The redactor for everything that is written. A pattern that does not compile withholds
    /// the texts it would have looked at, so a slip never lets a secret through.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        if self.redact.patterns.is_empty() && self.redact.allow.is_empty() {
            return Redactor::builtin();
        }
        let patterns = self.redact.patterns.iter().enumerate().map(|(index, entry)| entry.pattern(index)).collect();
        let allowed = self.redact.allow.iter().cloned().map(Allowed::Exact).collect();
        let options = Options { patterns, allowed, compile: Compile::WhenNeeded, ..Options::default() };
        Redactor::new(options).unwrap_or_else(|_| Redactor::builtin())
    }
}

impl PatternEntry {
    fn pattern(&self, index: usize) -> UserPattern {
        match self {
            Self::Regex(regex) => UserPattern::new(format!("pattern {index}"), regex.as_str()),
            Self::Named { name, regex, keywords } => {
                UserPattern { name: name.clone(), regex: regex.clone(), keywords: keywords.clone() }
            }
        }
    }
}

/// A file of rules as `parse` reads it; the default if there is none or it cannot be read, which is told.
pub(crate) fn read_or_default<T: Default>(
    path: &Path,
    limit_bytes: u64,
    parse: impl FnOnce(&[u8]) -> (T, Vec<String>),
) -> (T, Vec<String>) {
    let (bytes, problem) = read_rules(path, limit_bytes);
    let (value, mut problems) = bytes.map_or_else(Default::default, |bytes| parse(&bytes));
    problems.extend(problem);
    (value, problems)
}

/// The bytes of a file of rules, and why they could not be read; a file that does not exist is no problem.
pub(crate) fn read_rules(path: &Path, limit_bytes: u64) -> (Option<Vec<u8>>, Option<String>) {
    match read_at_most(path, limit_bytes) {
        Ok(bytes) => (Some(bytes), None),
        Err(error) if error.is_not_found() => (None, None),
        Err(error) => (None, Some(format!("{error}, so the defaults hold"))),
    }
}

fn part<T: Default + for<'de> Deserialize<'de>>(value: Option<&Value>, name: &str, problems: &mut Vec<String>) -> T {
    let Some(value) = value else {
        return T::default();
    };
    T::deserialize(value).unwrap_or_else(|error| {
        problems.push(format!("`{name}` in the configuration is not usable: {error}"));
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sections_belong_to_modules() {
        let (config, problems) = Config::parse(br#"{"session": {"newWorkOn": []}, "prompts": "hash"}"#);
        assert!(problems.is_empty());
        assert_eq!(config.section("session"), &json!({"newWorkOn": []}));
        assert_eq!(config.section("other"), &Value::Null);
        assert_eq!(config.prompts, PromptAudit::Hash);
        assert_eq!(Config::parse(br#"{"session": {"prompts": "hash"}}"#).0.prompts, PromptAudit::Hash);
    }

    #[test]
    fn broken_configurations_give_defaults_and_say_so() {
        for bytes in [&b""[..], b"[1]", b"{", b"\xff"] {
            let (config, problems) = Config::parse(bytes);
            assert_eq!((config.prompts, problems.len()), (PromptAudit::Text, 1), "{bytes:?}");
        }
        let (_, problems) = Config::parse(br#"{"prompts": 3, "redact": {"patterns": "x"}}"#);
        assert_eq!(problems.len(), 2);
    }

    #[test]
    fn the_users_patterns_are_redacted_and_bad_ones_withhold() {
        let (config, _) = Config::parse(br#"{"redact": {"patterns": ["ACME-[0-9]+"], "allow": ["ACME-1"]}}"#);
        assert_eq!(config.redactor().redact("see ACME-22 and ACME-1"), "see [REDACTED] and ACME-1");
        let (broken, _) = Config::parse(br#"{"redact": {"patterns": ["("]}}"#);
        assert!(!broken.redactor().redact("plain").contains("plain"));
    }
}
