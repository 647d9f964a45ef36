//! The format of `.akira/hooks.json`: every key with its description, its limits and its default.
//!
//! Pure.

use super::keys::{
    ChoiceKey, CustomKey, FlagKey, NumberKey, ObjectKey, ObjectShape, TextForm, TextKey, TextListKey, TextOrListKey,
    WholeKey, described,
};
use super::limits::{MAX_ARGUMENTS, MAX_HOOKS, MAX_ID_CHARS, MAX_NAMES, MAX_PATTERNS};
use super::migrate;
use crate::contract::{AgentPermissions, GIT_HOOKS, HookLimits, RunPlace, SessionScope, Trigger};
use crate::file_names::SHOWN;
use crate::runner::runner_names;
use dispatch_redact::limits::MAX_USER_PATTERNS;
use serde_json::{Value, json};

/// The JSON Schema of `.akira/hooks.json`.
#[must_use]
pub fn schema() -> Value {
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": SHOWN,
        "description": "Prompts and programs that run in the background when the workspace changes.",
    });
    if let (Value::Object(schema), Value::Object(shape)) = (&mut schema, FILE.schema()) {
        schema.extend(shape);
    }
    schema
}

/// The file.
pub(crate) static FILE: ObjectShape = ObjectShape::plain(
    &[
        &TextKey { name: "$schema", description: "", form: TextForm::Any },
        &WholeKey {
            name: "schemaVersion",
            description: "The version of this format.",
            range: 0..=migrate::SCHEMA_VERSION,
            default: Some(migrate::SCHEMA_VERSION),
            rule: "schema-version",
        },
        &CustomKey {
            name: "hooks",
            schema: || json!({ "type": "array", "maxItems": MAX_HOOKS, "items": HOOK.schema() }),
        },
        &LIMITS,
        &FILE_SECRET_PATTERNS,
    ],
    &["hooks"],
);

pub(crate) static LIMITS: ObjectKey = ObjectKey {
    name: "limits",
    description: "Limits of all hooks together.",
    shape: ObjectShape::plain(&[&ALL_CONCURRENCY, &QUEUED], &[]),
};
pub(crate) static ALL_CONCURRENCY: WholeKey = WholeKey {
    name: "concurrency",
    description: "How many runs go at a time, of all hooks.",
    range: 1..=256,
    default: Some(HookLimits::DEFAULT.concurrency as u64),
    rule: "range",
};
pub(crate) static QUEUED: WholeKey = WholeKey {
    name: "queued",
    description: "How many runs may wait.",
    range: 1..=10_000,
    default: Some(HookLimits::DEFAULT.queued as u64),
    rule: "range",
};
static FILE_SECRET_PATTERNS: TextListKey = TextListKey {
    name: "secretPatterns",
    description: "Further forms of secrets, for all hooks. Regular expressions without look-around.",
    ..SECRET_PATTERNS_OF_HOOK
};

/// A hook.
pub(crate) static HOOK: ObjectShape = ObjectShape {
    keys: &[
        &TextKey {
            name: "id",
            description: "The name of the hook, unique in the workspace.",
            form: TextForm::AtMost(MAX_ID_CHARS),
        },
        &CustomKey { name: "trigger", schema: trigger },
        &PATTERN,
        &TextKey { name: "prompt", description: "What an agent is asked.", form: TextForm::NotEmpty },
        &COMMAND,
        &CustomKey { name: "runner", schema: runner_schema },
        &ENABLED,
        &CustomKey {
            name: "metadata",
            schema: || json!({ "description": "Free for you; part of the event that a run gets.", "type": "object" }),
        },
        &SESSION,
        &PLACE,
        &PERMISSIONS,
        &BATCH,
        &RESTART,
        &CHAIN,
        &BLOCKING,
        &ALLOW_GIT,
        &REPO_ROOT,
        &SECRET_PATTERNS,
        &PASS_ENV,
        &TELL_AGENT,
        &SCHEDULE,
        &TIMEZONE,
        &CONCURRENCY,
        &TIMEOUT_MS,
        &RETRY,
        &DEBOUNCE_MS,
        &RATE_LIMIT,
        &BUDGET,
    ],
    required: &["id", "trigger"],
    rules: hook_rules,
};

pub(crate) static PATTERN: TextOrListKey = TextOrListKey {
    list: TextListKey {
        name: "pattern",
        description: "Globs of files, relative to the workspace. One that starts with `!` takes files out.",
        least: 0,
        most: MAX_PATTERNS,
        item: TextForm::NotEmpty,
    },
};
pub(crate) static COMMAND: TextListKey = TextListKey {
    name: "command",
    description: "A program with its arguments; it gets the event as JSON on its standard input.",
    least: 1,
    most: MAX_ARGUMENTS,
    item: TextForm::Any,
};
pub(crate) static ENABLED: FlagKey = FlagKey { name: "enabled", description: "Whether it runs at all.", default: true };
pub(crate) static SESSION: ChoiceKey<SessionScope> = ChoiceKey {
    name: "session",
    description: "Which conversation of our own agent a run belongs to.",
    words: &[("hook", SessionScope::Hook), ("file", SessionScope::File), ("run", SessionScope::Run)],
};
pub(crate) static PLACE: ChoiceKey<RunPlace> = ChoiceKey {
    name: "place",
    description: "In the workspace, or in a git worktree of its own whose change is offered as a patch.",
    words: &[("tree", RunPlace::Tree), ("patch", RunPlace::Patch)],
};
pub(crate) static PERMISSIONS: ChoiceKey<AgentPermissions> = ChoiceKey {
    name: "permissions",
    description: "What our own agent may do: look (`read`), change files (`write`), run programs too (`full`). \
                  Without it `write` where `place` is `patch`, else `read`.",
    words: &[("read", AgentPermissions::Read), ("write", AgentPermissions::Write), ("full", AgentPermissions::Full)],
};
pub(crate) static BATCH: FlagKey =
    FlagKey { name: "batch", description: "Whether one run handles all files that change together.", default: false };
pub(crate) static RESTART: FlagKey = FlagKey {
    name: "restart",
    description: "Whether a change of its files ends a run that goes and starts it anew.",
    default: false,
};
pub(crate) static CHAIN: FlagKey =
    FlagKey { name: "chain", description: "Whether changes that other hooks make start it.", default: false };
pub(crate) static BLOCKING: FlagKey = FlagKey {
    name: "blocking",
    description: "Whether git waits for it and does not go on if it fails.",
    default: false,
};
pub(crate) static ALLOW_GIT: FlagKey =
    FlagKey { name: "allowGit", description: "Whether git may start it.", default: false };
pub(crate) static REPO_ROOT: TextKey = TextKey {
    name: "repoRoot",
    description: "The repository that may start it, absolute or relative to the workspace.",
    form: TextForm::NotEmpty,
};
const SECRET_PATTERNS_OF_HOOK: TextListKey = TextListKey {
    name: "secretPatterns",
    description: "Further forms of secrets. Regular expressions without look-around.",
    least: 0,
    most: MAX_USER_PATTERNS,
    item: TextForm::NotEmpty,
};
pub(crate) static SECRET_PATTERNS: TextListKey = SECRET_PATTERNS_OF_HOOK;
pub(crate) static PASS_ENV: TextListKey = TextListKey {
    name: "passEnv",
    description: "Environment variables that its program may see beside the usual ones.",
    least: 0,
    most: MAX_NAMES,
    item: TextForm::Pattern("^[A-Za-z_][A-Za-z0-9_]*$"),
};
pub(crate) static TELL_AGENT: FlagKey = FlagKey {
    name: "tellAgent",
    description: "Whether the result is told to the next turn of an agent in this workspace.",
    default: false,
};
pub(crate) static SCHEDULE: TextKey = TextKey {
    name: "schedule",
    description: "A time table of five fields: minute, hour, day, month, weekday.",
    form: TextForm::Example("0 9 * * 1-5"),
};
pub(crate) static TIMEZONE: TextKey = TextKey {
    name: "timezone",
    description: "The zone of the time table; UTC if there is none.",
    form: TextForm::Example("Europe/Berlin"),
};
pub(crate) static CONCURRENCY: WholeKey = WholeKey {
    name: "concurrency",
    description: "How many of its runs go at a time.",
    range: 1..=256,
    default: Some(4),
    rule: "concurrency",
};
/// A second to a day.
pub(crate) static TIMEOUT_MS: WholeKey = WholeKey {
    name: "timeoutMs",
    description: "When a run is stopped.",
    range: 1_000..=86_400_000,
    default: Some(60_000),
    rule: "timeout",
};
pub(crate) static RETRY: ObjectKey = ObjectKey {
    name: "retry",
    description: "What happens after a failure.",
    shape: ObjectShape::plain(&[&RETRY_COUNT, &BACKOFF_MS, &BACKOFF_FACTOR], &["count"]),
};
pub(crate) static RETRY_COUNT: WholeKey = WholeKey {
    name: "count",
    description: "How many times it is tried again.",
    range: 0..=20,
    default: Some(0),
    rule: "retry",
};
/// Up to ten minutes.
pub(crate) static BACKOFF_MS: WholeKey = WholeKey {
    name: "backoffMs",
    description: "The wait before the first repetition.",
    range: 0..=600_000,
    default: Some(1_000),
    rule: "retry",
};
pub(crate) static BACKOFF_FACTOR: NumberKey = NumberKey {
    name: "backoffFactor",
    description: "What each further wait is multiplied by.",
    range: 1.0..=10.0,
    default: Some(2.0),
    rule: "retry",
};
/// Up to a minute.
pub(crate) static DEBOUNCE_MS: WholeKey = WholeKey {
    name: "debounceMs",
    description: "How long it waits for the next change of the same file.",
    range: 0..=60_000,
    default: Some(200),
    rule: "range",
};
pub(crate) static RATE_LIMIT: ObjectKey = ObjectKey {
    name: "rateLimit",
    description: "The most runs in a span of time; more wait.",
    shape: ObjectShape::plain(&[&RATE_RUNS, &RATE_SPAN_MS], &["runs", "perMs"]),
};
pub(crate) static RATE_RUNS: WholeKey =
    WholeKey { name: "runs", description: "", range: 1..=100_000, default: None, rule: "range" };
/// A second to a day.
pub(crate) static RATE_SPAN_MS: WholeKey =
    WholeKey { name: "perMs", description: "", range: 1_000..=86_400_000, default: None, rule: "range" };
pub(crate) static BUDGET: ObjectKey = ObjectKey {
    name: "budget",
    description: "What it may spend in a day (UTC); beyond it runs wait for the next.",
    shape: ObjectShape::plain(&[&TOKENS_PER_DAY, &USD_PER_DAY], &[]),
};
pub(crate) static TOKENS_PER_DAY: WholeKey =
    WholeKey { name: "tokensPerDay", description: "", range: 1..=1_000_000_000_000, default: None, rule: "range" };
pub(crate) static USD_PER_DAY: NumberKey =
    NumberKey { name: "usdPerDay", description: "", range: 0.000_001..=1_000_000.0, default: None, rule: "range" };

/// A runner that is another agent's program.
pub(crate) static PROGRAM_RUNNER: ObjectShape = ObjectShape::plain(
    &[&TextListKey {
        name: "command",
        description: "A program; one of its arguments holds {prompt}, once.",
        least: 1,
        most: MAX_ARGUMENTS,
        item: TextForm::Any,
    }],
    &["command"],
);
/// A runner that is a server.
pub(crate) static HTTP_RUNNER: ObjectShape = ObjectShape::plain(
    &[
        &TextKey { name: "http", description: "On this machine, or over TLS.", form: TextForm::Pattern("^https?://") },
        &CustomKey { name: "headers", schema: headers },
    ],
    &["http"],
);

fn hook_rules() -> Value {
    json!({
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
        ]
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
        "anyOf": [{ "enum": runner_names() }, PROGRAM_RUNNER.schema(), HTTP_RUNNER.schema()]
    })
}

fn headers() -> Value {
    let values = json!({ "type": "object", "maxProperties": MAX_NAMES, "additionalProperties": { "type": "string" } });
    described("A value `${NAME}` is read from the environment when the run starts.", values)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn no_key_is_described_twice_and_every_default_is_in_its_range() {
        for shape in [&FILE, &HOOK, &LIMITS.shape, &RETRY.shape, &RATE_LIMIT.shape, &BUDGET.shape, &HTTP_RUNNER] {
            let names = shape.names();
            let unique: std::collections::BTreeSet<&str> = names.iter().copied().collect();
            assert_eq!(unique.len(), names.len(), "{names:?}");
            assert!(shape.required.iter().all(|name| names.contains(name)), "{names:?}");
        }
        for key in [&ALL_CONCURRENCY, &QUEUED, &CONCURRENCY, &TIMEOUT_MS, &RETRY_COUNT, &BACKOFF_MS, &DEBOUNCE_MS] {
            assert!(key.default.is_some_and(|default| key.range.contains(&default)), "{}", key.name);
        }
    }
}
