//! What a configuration weakens against the built-in defaults, and the configuration without it.

use serde_json::{Map, Value};

use super::Config;

/// The module whose rules can be switched off by their code.
const GUARD_SECTION: &str = "graph-pretooluse";
/// Keys of it that can take in more than the default does.
const GUARD_KEYS: [&str; 2] = ["maxFiles", "scratch"];
/// The default of the first of them.
const DEFAULT_MAX_FILES: u64 = 50_000;
/// The module that ties changes to intents.
const INTENTS_SECTION: &str = "intents";
/// Its key for what becomes of a call that no intent allows.
const INTENTS_MODE: &str = "mode";
/// Its key for files that need no intent.
const INTENTS_FREE: &str = "free";
/// Rules of the project's own.
const OWN_RULES: &str = "rules";

impl Config {
    /// Whether it weakens anything. Asked for each event, so it builds nothing.
    pub(crate) fn is_looser(&self) -> bool {
        let guard = self.sections.get(GUARD_SECTION).and_then(Value::as_object);
        !self.redact.allow.is_empty()
            || guard.is_some_and(|guard| {
                GUARD_KEYS.iter().any(|key| guard.get(*key).is_some_and(takes_more))
                    || severities(guard).is_some_and(|rules| rules.values().any(weakens))
            })
            || own_rules(&self.sections).is_some_and(|rules| rules.iter().any(permits))
            || loose_intents(&self.sections).next().is_some()
    }

    /// Takes out what weakens, and names it.
    pub(crate) fn tighten(&mut self) -> Vec<String> {
        let mut removed = Vec::new();
        if !self.redact.allow.is_empty() {
            self.redact.allow.clear();
            removed.push("redact.allow".to_owned());
        }
        if let Some(guard) = self.sections.get_mut(GUARD_SECTION).and_then(Value::as_object_mut) {
            for key in GUARD_KEYS {
                if guard.get(key).is_some_and(takes_more) {
                    guard.shift_remove(key);
                    removed.push(format!("{GUARD_SECTION}.{key}"));
                }
            }
            if let Some(rules) = guard.get_mut(OWN_RULES).and_then(Value::as_object_mut) {
                rules.retain(|code, severity| {
                    let goes = weakens(severity);
                    removed.extend(goes.then(|| format!("{GUARD_SECTION}.rules.{code}")));
                    !goes
                });
            }
        }
        for key in loose_intents(&self.sections).collect::<Vec<_>>() {
            if let Some(intents) = self.sections.get_mut(INTENTS_SECTION).and_then(Value::as_object_mut) {
                intents.shift_remove(key);
            }
            removed.push(format!("{INTENTS_SECTION}.{key}"));
        }
        if let Some(rules) = self.sections.get_mut(OWN_RULES).and_then(Value::as_array_mut) {
            let mut index = 0;
            rules.retain(|rule| {
                let goes = permits(rule);
                removed.extend(goes.then(|| format!("rules[{index}]")));
                index += 1;
                !goes
            });
        }
        removed
    }
}

fn severities(guard: &Map<String, Value>) -> Option<&Map<String, Value>> {
    guard.get(OWN_RULES)?.as_object()
}

/// The keys of the intents that let more pass than their defaults do.
fn loose_intents(sections: &Map<String, Value>) -> impl Iterator<Item = &'static str> {
    let intents = sections.get(INTENTS_SECTION).and_then(Value::as_object);
    let value = |key: &str| intents.and_then(|intents| intents.get(key));
    let mode = value(INTENTS_MODE).is_some_and(|mode| mode != "enforce").then_some(INTENTS_MODE);
    let free = value(INTENTS_FREE).and_then(Value::as_array).is_some_and(|globs| !globs.is_empty());
    mode.into_iter().chain(free.then_some(INTENTS_FREE))
}

fn own_rules(sections: &Map<String, Value>) -> Option<&Vec<Value>> {
    sections.get(OWN_RULES)?.as_array()
}

/// A greater number than the default, or any list of folders.
fn takes_more(value: &Value) -> bool {
    value.as_u64().map_or(!value.is_null(), |number| number > DEFAULT_MAX_FILES)
}

/// Anything but a denial; where a rule asks by default, asking is what is left when this is taken out.
fn weakens(severity: &Value) -> bool {
    severity.as_str().is_some_and(|word| word != "deny")
}

/// Whether a rule lets something pass.
fn permits(rule: &Value) -> bool {
    rule.get("then").and_then(Value::as_str).is_some_and(|then| then == "allow" || then == "grant")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn removed(config: &Value) -> Vec<String> {
        let (mut config, _) = Config::parse(config.to_string().as_bytes());
        let looser = config.is_looser();
        let removed = config.tighten();
        assert_eq!(looser, !removed.is_empty());
        assert!(!config.is_looser(), "nothing is left to take out");
        removed
    }

    #[test]
    fn what_weakens_is_taken_out_and_what_tightens_stays() {
        assert_eq!(removed(&json!({})), Vec::<String>::new());
        assert_eq!(removed(&json!({"graph-pretooluse": {"rules": {"GT01": "deny"}}})), Vec::<String>::new());
        assert_eq!(removed(&json!({"self-guard": {"protect": ["x"]}, "prompts": "hash"})), Vec::<String>::new());
        let weak =
            json!({"graph-pretooluse": {"rules": {"UB01": "off", "GT04": "ask", "GT01": "deny"}, "scratch": ["/"]}});
        let expected = ["graph-pretooluse.scratch", "graph-pretooluse.rules.UB01", "graph-pretooluse.rules.GT04"];
        assert_eq!(removed(&weak), expected);
        assert_eq!(removed(&json!({"redact": {"allow": ["x"]}})), ["redact.allow"]);
        assert_eq!(removed(&json!({"graph-pretooluse": {"maxFiles": 50_000}})), Vec::<String>::new());
        assert_eq!(removed(&json!({"graph-pretooluse": {"maxFiles": 60_000}})), ["graph-pretooluse.maxFiles"]);
        let rules = json!({"rules": [{"then": "deny"}, {"then": "grant"}, {"then": "allow"}]});
        assert_eq!(removed(&rules), ["rules[1]", "rules[2]"]);
    }
}
