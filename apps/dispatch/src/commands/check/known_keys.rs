//! What the sections of `config.json` may hold, and what is wrong with one that holds something else.
//!
//! Pure.

use super::json_lines::Step;
use ext_hook_pipeline::contract::MAX_OWN_RULES;
use serde_json::Value;

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Anything,
    Flag,
    Number,
    Text,
    Texts,
    Severities,
    /// Rules of one's own.
    OwnRules,
    OneOf(&'static [&'static str]),
}

/// A mistake and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyProblem {
    pub(super) path: Vec<Step>,
    pub(super) message: String,
}

/// Sections and their keys. A section of a script module may hold anything.
const SECTIONS: &[(&str, &[(&str, Takes)])] = &[
    ("graph-pretooluse", &[("rules", Takes::Severities), ("maxFiles", Takes::Number), ("scratch", Takes::Texts)]),
    ("self-guard", &[("protect", Takes::Texts)]),
    (
        "session",
        &[("newWorkOn", Takes::Texts), ("stampInput", Takes::Flag), ("prompts", Takes::OneOf(&["text", "hash"]))],
    ),
    (
        "planGraph-exec",
        &[("mode", Takes::OneOf(&["deny", "warn"])), ("maxCount", Takes::Number), ("rewrite", Takes::Flag)],
    ),
    ("rlm-work", &[("maxBlocks", Takes::Number)]),
    ("memory-journal", &[("textChars", Takes::Number)]),
    (
        "plan-subagent-contract",
        &[("planAgentTypes", Takes::Texts), ("maxBlocks", Takes::Number), ("autoAccept", Takes::Flag)],
    ),
    ("memory-activation", &[("maxChars", Takes::Number)]),
    ("redact", &[("patterns", Takes::Anything), ("allow", Takes::Texts)]),
    ("neo4j", &[("url", Takes::Text), ("user", Takes::Text), ("passwordEnv", Takes::Text)]),
];
/// Keys that are no section with keys of its own.
const TOP: [(&str, Takes); 3] =
    [("prompts", Takes::OneOf(&["text", "hash"])), ("rules", Takes::OwnRules), ("$schema", Takes::Text)];

/// What is wrong with a configuration; `modules` are the names that the manifest and the program know.
pub(super) fn problems(config: &Value, modules: &[String]) -> Vec<KeyProblem> {
    let Some(fields) = config.as_object() else {
        return vec![KeyProblem { path: Vec::new(), message: "expected an object".to_owned() }];
    };
    let mut found = Vec::new();
    for (name, value) in fields {
        let path = vec![Step::Key(name.clone())];
        if let Some((_, takes)) = TOP.iter().find(|(known, _)| known == name) {
            found.extend(wrong_value(value, *takes, &path));
        } else if let Some((_, keys)) = SECTIONS.iter().find(|(known, _)| known == name) {
            found.extend(section(value, keys, &path));
        } else if !modules.contains(name) {
            let known = SECTIONS.iter().map(|(known, _)| *known).chain(modules.iter().map(String::as_str));
            found.push(KeyProblem { path, message: unknown("section", name, known.collect()) });
        }
    }
    found
}

fn section(value: &Value, keys: &[(&str, Takes)], path: &[Step]) -> Vec<KeyProblem> {
    let Some(fields) = value.as_object() else {
        return vec![KeyProblem { path: path.to_vec(), message: "expected an object".to_owned() }];
    };
    let mut found = Vec::new();
    for (name, value) in fields {
        let path = [path, &[Step::Key(name.clone())]].concat();
        match keys.iter().find(|(known, _)| known == name) {
            Some((_, takes)) => found.extend(wrong_value(value, *takes, &path)),
            None => {
                let known = keys.iter().map(|(known, _)| *known).collect();
                found.push(KeyProblem { path, message: unknown("key", name, known) });
            }
        }
    }
    found
}

fn wrong_value(value: &Value, takes: Takes, path: &[Step]) -> Vec<KeyProblem> {
    let wrong = |expected: &str| {
        let message = format!("expected {expected}, found {value}");
        vec![KeyProblem { path: path.to_vec(), message }]
    };
    match takes {
        _ if value.is_null() => Vec::new(),
        Takes::Anything => Vec::new(),
        Takes::Flag if !value.is_boolean() => wrong("true or false"),
        Takes::Number if !value.is_u64() => wrong("a number"),
        Takes::Text if !value.is_string() => wrong("text"),
        Takes::Texts if !value.as_array().is_some_and(|items| items.iter().all(Value::is_string)) => {
            wrong("a list of texts")
        }
        Takes::OneOf(words) if !value.as_str().is_some_and(|word| words.contains(&word)) => {
            wrong(&format!("one of {}", words.join(", ")))
        }
        Takes::Severities => severities(value, path),
        Takes::OwnRules => own_rules(value, path),
        _ => Vec::new(),
    }
}

fn severities(value: &Value, path: &[Step]) -> Vec<KeyProblem> {
    let Some(rules) = value.as_object() else {
        return vec![KeyProblem { path: path.to_vec(), message: "expected an object of rules".to_owned() }];
    };
    let bad = rules.iter().filter(|(_, word)| !matches!(word.as_str(), Some("off" | "ask" | "deny")));
    let problem = |(code, word): (&String, &Value)| KeyProblem {
        path: [path, &[Step::Key(code.clone())]].concat(),
        message: format!("expected one of off, ask, deny, found {word}"),
    };
    bad.map(problem).collect()
}

/// Keys of a rule of one's own, and of its condition.
const RULE_KEYS: &[(&str, Takes)] =
    &[("then", Takes::OneOf(&["deny", "ask", "allow", "grant"])), ("because", Takes::Text), ("when", Takes::Anything)];
const CONDITION_KEYS: &[(&str, Takes)] = &[("command", Takes::Text), ("path", Takes::Text), ("tool", Takes::Text)];

fn own_rules(value: &Value, path: &[Step]) -> Vec<KeyProblem> {
    let Some(rules) = value.as_array() else {
        return vec![KeyProblem { path: path.to_vec(), message: "expected a list of rules".to_owned() }];
    };
    let mut found = Vec::new();
    if rules.len() > MAX_OWN_RULES {
        let message = format!("{} rules, of which the first {MAX_OWN_RULES} hold", rules.len());
        found.push(KeyProblem { path: path.to_vec(), message });
    }
    for (index, rule) in rules.iter().enumerate() {
        found.extend(own_rule(rule, &[path, &[Step::Index(index)]].concat()));
    }
    found
}

fn own_rule(rule: &Value, path: &[Step]) -> Vec<KeyProblem> {
    let mut found = section(rule, RULE_KEYS, path);
    if !found.is_empty() {
        return found;
    }
    let missing = |key: &str| KeyProblem { path: path.to_vec(), message: format!("`{key}` is missing") };
    if rule.get("then").is_none() {
        found.push(missing("then"));
    }
    let Some(when) = rule.get("when") else {
        found.push(missing("when"));
        return found;
    };
    let at = [path, &[Step::Key("when".to_owned())]].concat();
    found.extend(section(when, CONDITION_KEYS, &at));
    if when.as_object().is_some_and(serde_json::Map::is_empty) {
        let message = "expected at least one of command, path, tool".to_owned();
        found.push(KeyProblem { path: at.clone(), message });
    }
    if let Some(pattern) = when.get("path").and_then(Value::as_str)
        && let Err(error) = dispatch_glob::Glob::new(pattern.trim_start_matches('/'))
    {
        let path = [at.as_slice(), &[Step::Key("path".to_owned())]].concat();
        found.push(KeyProblem { path, message: format!("invalid pattern: {error}") });
    }
    found
}

fn unknown(what: &str, name: &str, known: Vec<&str>) -> String {
    let near = known.into_iter().filter_map(|one| Some((distance(name, one)?, one))).min();
    let hint = near.map(|(_, one)| format!("; did you mean `{one}`?")).unwrap_or_default();
    format!("unknown {what} `{name}`{hint}")
}

/// How many letters differ, if that is few enough for a slip.
fn distance(one: &str, other: &str) -> Option<usize> {
    let (one, other) = (one.to_ascii_lowercase(), other.to_ascii_lowercase());
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, left) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(row.first_mut()?, at + 1);
        for (index, right) in other.bytes().enumerate() {
            let cost = diagonal + usize::from(left != right);
            diagonal = *row.get(index + 1)?;
            let best = cost.min(diagonal + 1).min(*row.get(index)? + 1);
            *row.get_mut(index + 1)? = best;
        }
    }
    row.last().copied().filter(|count| *count <= 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(config: &Value) -> Vec<String> {
        problems(config, &["my-guard".to_owned()]).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn mistakes_are_told_and_what_is_right_is_not() {
        let fine = json!({"prompts": "hash", "graph-pretooluse": {"rules": {"UB01": "ask"}, "maxFiles": 9}, "my-guard": {"x": 1}});
        assert_eq!(told(&fine), Vec::<String>::new());
        let table = [
            (
                json!({"graph-pretooluse": {"rules": {"GT04": "off", "UB02": "maybe"}}}),
                "expected one of off, ask, deny, found \"maybe\"",
            ),
            (json!({"graph-pretoluse": {}}), "unknown section `graph-pretoluse`; did you mean `graph-pretooluse`?"),
            (json!({"self-guard": {"protected": []}}), "unknown key `protected`; did you mean `protect`?"),
            (json!({"self-guard": {"protect": "x"}}), "expected a list of texts, found \"x\""),
            (json!({"session": []}), "expected an object"),
            (json!({"prompts": 3}), "expected one of text, hash, found 3"),
            (json!([1]), "expected an object"),
            (json!({"rules": {}}), "expected a list of rules"),
            (json!({"rules": [7]}), "expected an object"),
            (json!({"rules": [{"when": {"command": "x"}}]}), "`then` is missing"),
            (json!({"rules": [{"then": "deny"}]}), "`when` is missing"),
            (json!({"rules": [{"when": {}, "then": "deny"}]}), "expected at least one of command, path, tool"),
            (
                json!({"rules": [{"when": {"command": "x"}, "then": "forbid"}]}),
                "expected one of deny, ask, allow, grant, found \"forbid\"",
            ),
            (
                json!({"rules": [{"when": {"comand": "x"}, "then": "deny"}]}),
                "unknown key `comand`; did you mean `command`?",
            ),
        ];
        for (config, expected) in table {
            assert_eq!(told(&config), [expected], "{config}");
        }
    }
}
