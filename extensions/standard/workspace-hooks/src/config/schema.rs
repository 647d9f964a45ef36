//! The JSON Schema of the file of hooks, for editors. It is made of the same limits that the file is judged by.

use super::limits::{
    BACKOFF_FACTOR, BACKOFF_MS, CONCURRENCY, DEBOUNCE_MS, DEFAULT_BACKOFF_FACTOR, DEFAULT_BACKOFF_MS,
    DEFAULT_CONCURRENCY, DEFAULT_DEBOUNCE_MS, DEFAULT_TIMEOUT_MS, MAX_ARGUMENTS, MAX_HOOKS, MAX_ID_CHARS, MAX_NAMES,
    MAX_PATTERNS, QUEUED, RATE_RUNS, RATE_SPAN_MS, RETRY_COUNT, TIMEOUT_MS, TOKENS_PER_DAY, USD_PER_DAY,
};
use super::{SHOWN, migrate, runner};
use crate::contract::{GIT_HOOKS, HookLimits, Trigger};
use dispatch_redact::limits::MAX_USER_PATTERNS;
use serde::Serialize;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

/// The schema of `.akira/hooks.json`.
#[must_use]
pub fn schema() -> Value {
    let limits = HookLimits::default();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": SHOWN,
        "description": "Prompts and programs that run in the background when the workspace changes.",
        "type": "object",
        "required": ["hooks"],
        "additionalProperties": false,
        "patternProperties": { "^x-": {} },
        "properties": {
            "$schema": { "type": "string" },
            "schemaVersion": {
                "description": "The version of this format.",
                "type": "integer", "minimum": 0, "maximum": migrate::SCHEMA_VERSION, "default": migrate::SCHEMA_VERSION
            },
            "hooks": { "type": "array", "maxItems": MAX_HOOKS, "items": hook() },
            "limits": {
                "description": "Limits of all hooks together.",
                "type": "object",
                "additionalProperties": false,
                "patternProperties": { "^x-": {} },
                "properties": {
                    "concurrency": whole(&CONCURRENCY, limits.concurrency, "How many runs go at a time, of all hooks."),
                    "queued": whole(&QUEUED, limits.queued, "How many runs may wait.")
                }
            },
            "secretPatterns": secret_patterns("Further forms of secrets, for all hooks.")
        }
    })
}

fn hook() -> Value {
    let mut properties = json!({
        "id": {
            "description": "The name of the hook, unique in the workspace.",
            "type": "string", "minLength": 1, "maxLength": MAX_ID_CHARS
        },
        "trigger": trigger(),
        "pattern": {
            "description": "Globs of files, relative to the workspace. One that starts with `!` takes files out.",
            "anyOf": [
                { "type": "string", "minLength": 1 },
                { "type": "array", "maxItems": MAX_PATTERNS, "items": { "type": "string", "minLength": 1 } }
            ]
        },
        "prompt": { "description": "What an agent is asked.", "type": "string", "minLength": 1 },
        "command": command("A program with its arguments; it gets the event as JSON on its standard input."),
        "runner": runner_schema(),
        "enabled": flag(true, "Whether it runs at all."),
        "metadata": { "description": "Free for you; part of the event that a run gets.", "type": "object" }
    });
    if let (Value::Object(all), Value::Object(place), Value::Object(pace)) = (&mut properties, place(), pace()) {
        all.extend(place);
        all.extend(pace);
    }
    json!({
        "type": "object",
        "required": ["id", "trigger"],
        "oneOf": [{ "required": ["prompt"] }, { "required": ["command"] }],
        "allOf": [
            {
                "if": { "properties": { "trigger": { "pattern": "^(gitCommit$|git:)" } }, "required": ["trigger"] },
                "then": { "properties": { "allowGit": { "const": true } }, "required": ["allowGit", "repoRoot"] }
            },
            {
                "if": { "properties": { "trigger": { "const": "schedule" } }, "required": ["trigger"] },
                "then": { "required": ["schedule"] }
            }
        ],
        "additionalProperties": false,
        "patternProperties": { "^x-": {} },
        "properties": properties
    })
}

/// Where a run works and what it may see.
fn place() -> Value {
    json!({
        "session": {
            "description": "Which conversation of our own agent a run belongs to.",
            "enum": ["hook", "file", "run"], "default": "hook"
        },
        "place": {
            "description": "In the workspace, or in a git worktree of its own whose change is offered as a patch.",
            "enum": ["tree", "patch"], "default": "tree"
        },
        "allowGit": flag(false, "Whether git may start it."),
        "repoRoot": {
            "description": "The repository that may start it, absolute or relative to the workspace.",
            "type": "string", "minLength": 1
        },
        "secretPatterns": secret_patterns("Further forms of secrets."),
        "passEnv": {
            "description": "Environment variables that its program may see beside the usual ones.",
            "type": "array", "maxItems": MAX_NAMES, "items": { "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }
        },
        "tellAgent": flag(false, "Whether the result is told to the next turn of an agent in this workspace.")
    })
}

/// When and how often it runs.
fn pace() -> Value {
    json!({
        "schedule": {
            "description": "A time table of five fields: minute, hour, day, month, weekday.",
            "type": "string", "examples": ["0 9 * * 1-5"]
        },
        "timezone": {
            "description": "The zone of the time table; UTC if there is none.",
            "type": "string", "examples": ["Europe/Berlin"]
        },
        "concurrency": whole(&CONCURRENCY, DEFAULT_CONCURRENCY, "How many of its runs go at a time."),
        "timeoutMs": whole(&TIMEOUT_MS, DEFAULT_TIMEOUT_MS, "When a run is stopped."),
        "retry": {
            "description": "What happens after a failure.",
            "type": "object",
            "required": ["count"],
            "additionalProperties": false,
            "patternProperties": { "^x-": {} },
            "properties": {
                "count": whole(&RETRY_COUNT, 0, "How many times it is tried again."),
                "backoffMs": whole(&BACKOFF_MS, DEFAULT_BACKOFF_MS, "The wait before the first repetition."),
                "backoffFactor": {
                    "description": "What each further wait is multiplied by.",
                    "type": "number", "minimum": BACKOFF_FACTOR.start(), "maximum": BACKOFF_FACTOR.end(),
                    "default": DEFAULT_BACKOFF_FACTOR
                }
            }
        },
        "debounceMs": whole(&DEBOUNCE_MS, DEFAULT_DEBOUNCE_MS, "How long it waits for the next change of the same file."),
        "rateLimit": {
            "description": "The most runs in a span of time; more wait.",
            "type": "object",
            "required": ["runs", "perMs"],
            "additionalProperties": false,
            "patternProperties": { "^x-": {} },
            "properties": {
                "runs": { "type": "integer", "minimum": RATE_RUNS.start(), "maximum": RATE_RUNS.end() },
                "perMs": { "type": "integer", "minimum": RATE_SPAN_MS.start(), "maximum": RATE_SPAN_MS.end() }
            }
        },
        "budget": {
            "description": "What it may spend in a day (UTC); beyond it runs wait for the next.",
            "type": "object",
            "additionalProperties": false,
            "patternProperties": { "^x-": {} },
            "properties": {
                "tokensPerDay": {
                    "type": "integer", "minimum": TOKENS_PER_DAY.start(), "maximum": TOKENS_PER_DAY.end()
                },
                "usdPerDay": { "type": "number", "minimum": USD_PER_DAY.start(), "maximum": USD_PER_DAY.end() }
            }
        }
    })
}

fn trigger() -> Value {
    let words: Vec<String> = Trigger::words().into_iter().filter(|word| !word.starts_with("custom:")).collect();
    json!({
        "description": format!("What starts it. `git:` is followed by {}.", GIT_HOOKS.join(", ")),
        "type": "string",
        "anyOf": [{ "enum": words }, { "pattern": "^custom:[A-Za-z0-9._/-]{1,80}$" }]
    })
}

fn runner_schema() -> Value {
    json!({
        "description": "Who answers the prompt.",
        "default": "agent",
        "anyOf": [
            { "enum": runner::names() },
            {
                "type": "object",
                "required": ["command"],
                "additionalProperties": false,
                "patternProperties": { "^x-": {} },
                "properties": { "command": command("A program; one of its arguments holds {prompt}, once.") }
            },
            {
                "type": "object",
                "required": ["http"],
                "additionalProperties": false,
                "patternProperties": { "^x-": {} },
                "properties": {
                    "http": { "description": "On this machine, or over TLS.", "type": "string", "pattern": "^https?://" },
                    "headers": {
                        "description": "A value `${NAME}` is read from the environment when the run starts.",
                        "type": "object", "maxProperties": MAX_NAMES, "additionalProperties": { "type": "string" }
                    }
                }
            }
        ]
    })
}

fn command(description: &str) -> Value {
    json!({
        "description": description,
        "type": "array", "minItems": 1, "maxItems": MAX_ARGUMENTS, "items": { "type": "string" }
    })
}

fn secret_patterns(description: &str) -> Value {
    let description = format!("{description} Regular expressions without look-around.");
    json!({
        "description": description,
        "type": "array", "maxItems": MAX_USER_PATTERNS, "items": { "type": "string", "minLength": 1 }
    })
}

fn flag(default: bool, description: &str) -> Value {
    json!({ "description": description, "type": "boolean", "default": default })
}

fn whole(range: &RangeInclusive<u64>, default: impl Serialize, description: &str) -> Value {
    json!({
        "description": description,
        "type": "integer", "minimum": range.start(), "maximum": range.end(), "default": default
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{file, hook};

    /// The committed file; `cargo xtask schemas --write` writes it with `DISPATCH_WRITE_GENERATED`.
    #[test]
    fn the_committed_files_are_what_the_code_generates() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../sdk/schema/workspace-hooks.schema.json");
        let text = format!("{:#}\n", schema());
        if std::env::var_os("DISPATCH_WRITE_GENERATED").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == text, "run `cargo xtask schemas --write` and commit the result");
    }

    #[test]
    fn it_knows_the_same_keys_as_the_reader() {
        let keys = |value: &Value| {
            let mut keys: Vec<String> = value["properties"].as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys
        };
        let sorted = |known: &[&str]| {
            let mut known: Vec<String> = known.iter().map(|key| (*key).to_owned()).collect();
            known.sort();
            known
        };
        assert_eq!(keys(&schema()), sorted(file::KEYS));
        assert_eq!(keys(&schema()["properties"]["hooks"]["items"]), sorted(hook::KEYS));
    }
}
