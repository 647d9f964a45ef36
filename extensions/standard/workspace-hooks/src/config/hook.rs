//! One hook of the file: every rule it has to keep, and the defaults of what it does not say.

mod when;

use super::fields::{Found, Object, in_range};
use super::file::{Shared, Surroundings};
use super::findings::Findings;
use super::json::{Json, shown};
use super::limits::{
    BACKOFF_FACTOR, BACKOFF_MS, CONCURRENCY, DEBOUNCE_MS, DEFAULT_BACKOFF_FACTOR, DEFAULT_BACKOFF_MS,
    DEFAULT_CONCURRENCY, DEFAULT_DEBOUNCE_MS, DEFAULT_TIMEOUT_MS, MAX_ID_CHARS, MAX_METADATA_BYTES, MAX_NAMES,
    MAX_PROMPT_BYTES, RATE_RUNS, RATE_SPAN_MS, RETRY_COUNT, TIMEOUT_MS, TOKENS_PER_DAY, USD_PER_DAY,
};
use super::{canonical, runner};
use crate::contract::{Action, Budget, Hook, Place, RateLimit, Retry, SessionScope};
use dispatch_contracts::suggest::nearest;
use serde_json::{Map, Value};

/// The keys of a hook.
pub(crate) const KEYS: &[&str] = &[
    "id",
    "trigger",
    "pattern",
    "prompt",
    "command",
    "runner",
    "session",
    "place",
    "enabled",
    "concurrency",
    "timeoutMs",
    "retry",
    "debounceMs",
    "rateLimit",
    "budget",
    "allowGit",
    "repoRoot",
    "schedule",
    "timezone",
    "secretPatterns",
    "passEnv",
    "tellAgent",
    "metadata",
];

/// The sessions and places, in the words of the file.
const SESSIONS: &[(&str, SessionScope)] =
    &[("hook", SessionScope::Hook), ("file", SessionScope::File), ("run", SessionScope::Run)];
const PLACES: &[(&str, Place)] = &[("tree", Place::Tree), ("patch", Place::Patch)];

/// The hook, or findings about it.
pub(crate) fn read(
    object: &Object<'_>,
    around: &Surroundings<'_>,
    shared: &mut Shared,
    findings: &mut Findings,
) -> Option<Hook> {
    let before = findings.total();
    object.refuse_unknown(KEYS, findings);
    let id = id(object, findings);
    let started = when::read(object, around, shared, findings);
    let action = action(object, findings);
    let session = choice(object, "session", SESSIONS, findings).unwrap_or_default();
    let runner = runner::read(object, session, findings);
    let mut secret_patterns = shared.secret_patterns.clone();
    let before_own = secret_patterns.len() + around.secret_patterns.len();
    secret_patterns.extend(shared.regexes.read(object, before_own, findings));
    let place = choice(object, "place", PLACES, findings).unwrap_or_default();
    let enabled = object.flag("enabled", findings).unwrap_or(true);
    let concurrency = small(object.whole_in("concurrency", &CONCURRENCY, "concurrency", findings));
    let timeout_ms = timeout(object, findings).unwrap_or(DEFAULT_TIMEOUT_MS);
    let retry = retry(object, findings);
    let debounce_ms = object.whole_in("debounceMs", &DEBOUNCE_MS, "range", findings).unwrap_or(DEFAULT_DEBOUNCE_MS);
    let rate_limit = rate_limit(object, findings);
    let budget = budget(object, findings);
    let pass_env = pass_env(object, findings);
    let tell_agent = object.flag("tellAgent", findings).unwrap_or(false);
    let metadata = metadata(object, findings);
    if findings.total() > before {
        return None;
    }
    let mut hook = Hook {
        id: id?,
        trigger: started.trigger?,
        pattern: started.pattern,
        action: action?,
        runner: runner?,
        place,
        enabled,
        concurrency: concurrency.unwrap_or(DEFAULT_CONCURRENCY),
        timeout_ms,
        retry,
        debounce_ms,
        rate_limit,
        budget,
        allow_git: started.allow_git,
        repo_root: started.repo_root_text,
        schedule: started.schedule,
        secret_patterns,
        pass_env,
        tell_agent,
        metadata,
        fingerprint: String::new(),
    };
    // The same hook in another clone is the same hook: what its file says counts, not where that leads.
    hook.fingerprint = canonical::fingerprint(&hook);
    hook.repo_root = started.repo_root;
    hook.secret_patterns.extend_from_slice(around.secret_patterns);
    Some(hook)
}

fn id(object: &Object<'_>, findings: &mut Findings) -> Option<String> {
    let Some(found) = object.get("id") else {
        object.missing(findings, "id", "give the hook a name that no other hook has");
        return None;
    };
    let id = found.text(findings)?;
    let wrong = if id.value.trim().is_empty() {
        Some("an id has at least one letter")
    } else if id.value.trim() != id.value {
        Some("an id has no blanks at its ends")
    } else if id.value.chars().any(char::is_control) {
        Some("an id stands on one line")
    } else if id.value.chars().count() > MAX_ID_CHARS {
        Some("an id has at most 120 characters")
    } else {
        None
    };
    if let Some(message) = wrong {
        id.wrong(findings, "id", message);
        return None;
    }
    Some(id.value.to_owned())
}

fn action(object: &Object<'_>, findings: &mut Findings) -> Option<Action> {
    match (object.get("prompt"), object.get("command")) {
        (Some(prompt), None) => prompt_text(prompt.text(findings)?, findings).map(Action::Prompt),
        (None, Some(_)) => {
            if let Some(runner) = object.get("runner") {
                let hint = "remove `runner`, or write a `prompt` instead of the `command`";
                runner.wrong_hinted(findings, "action", "nobody answers a command, it is run", hint);
            }
            runner::arguments(object, findings).map(Action::Command)
        }
        (Some(_), Some(command)) => {
            let hint = "keep one of them, or make two hooks";
            command.wrong_hinted(findings, "action", "a hook has `prompt` or `command`, not both", hint);
            None
        }
        (None, None) => {
            let hint = "write what an agent is asked as `prompt`, or a program with its arguments as `command`";
            object.missing(findings, "prompt", hint);
            None
        }
    }
}

fn prompt_text(prompt: Found<&str>, findings: &mut Findings) -> Option<String> {
    if prompt.value.trim().is_empty() {
        prompt.wrong(findings, "action", "the prompt is empty");
        return None;
    }
    if prompt.value.len() > MAX_PROMPT_BYTES {
        let message = format!("the prompt has {} bytes; {MAX_PROMPT_BYTES} are the most", prompt.value.len());
        prompt.wrong(findings, "too-large", message);
        return None;
    }
    if prompt.value.contains('\0') {
        prompt.wrong(findings, "action", "a prompt cannot hold the character U+0000");
        return None;
    }
    Some(prompt.value.to_owned())
}

/// One of a few words.
fn choice<T: Copy>(object: &Object<'_>, key: &str, words: &[(&str, T)], findings: &mut Findings) -> Option<T> {
    let found = object.text(key, findings)?;
    let chosen = words.iter().find(|(word, _)| *word == found.value).map(|(_, value)| *value);
    if chosen.is_none() {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let hint = match nearest(found.value, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("`{key}` is one of {}", known.join(", ")),
        };
        found.wrong_hinted(findings, "choice", format!("`{key}` cannot be `{}`", shown(found.value)), hint);
    }
    chosen
}

fn timeout(object: &Object<'_>, findings: &mut Findings) -> Option<u64> {
    let found = object.whole("timeoutMs", findings)?;
    if found.value == 0 {
        let hint = "there is always a limit: leave `timeoutMs` out for a minute, or write up to 86400000 for a day";
        found.wrong_hinted(findings, "timeout", "`timeoutMs` is 0, and a run without a limit is not possible", hint);
        return None;
    }
    in_range(&found, "timeoutMs", &TIMEOUT_MS, "timeout", findings)
}

fn retry(object: &Object<'_>, findings: &mut Findings) -> Retry {
    let defaults = Retry { count: 0, backoff_ms: DEFAULT_BACKOFF_MS, backoff_factor: DEFAULT_BACKOFF_FACTOR };
    let Some(retry) = object.object("retry", findings) else { return defaults };
    retry.refuse_unknown(&["count", "backoffMs", "backoffFactor"], findings);
    if retry.get("count").is_none() {
        retry.missing(findings, "count", "say how many times a failed run is repeated");
    }
    Retry {
        count: small(retry.whole_in("count", &RETRY_COUNT, "retry", findings)).unwrap_or(defaults.count),
        backoff_ms: retry.whole_in("backoffMs", &BACKOFF_MS, "retry", findings).unwrap_or(defaults.backoff_ms),
        backoff_factor: retry
            .number_in("backoffFactor", &BACKOFF_FACTOR, "retry", findings)
            .unwrap_or(defaults.backoff_factor),
    }
}

fn rate_limit(object: &Object<'_>, findings: &mut Findings) -> Option<RateLimit> {
    let limit = object.object("rateLimit", findings)?;
    limit.refuse_unknown(&["runs", "perMs"], findings);
    for key in ["runs", "perMs"] {
        if limit.get(key).is_none() {
            limit.missing(findings, key, "a rate limit has both `runs` and `perMs`");
        }
    }
    let runs = small(limit.whole_in("runs", &RATE_RUNS, "range", findings));
    let per_ms = limit.whole_in("perMs", &RATE_SPAN_MS, "range", findings);
    Some(RateLimit { runs: runs?, per_ms: per_ms? })
}

fn budget(object: &Object<'_>, findings: &mut Findings) -> Budget {
    let Some(budget) = object.object("budget", findings) else { return Budget::default() };
    budget.refuse_unknown(&["tokensPerDay", "usdPerDay"], findings);
    let dollars = budget.number_in("usdPerDay", &USD_PER_DAY, "range", findings);
    Budget {
        tokens_per_day: budget.whole_in("tokensPerDay", &TOKENS_PER_DAY, "range", findings),
        micro_usd_per_day: dollars.and_then(|dollars| format!("{:.0}", dollars * 1_000_000.0).parse().ok()),
    }
}

fn pass_env(object: &Object<'_>, findings: &mut Findings) -> Vec<String> {
    let names = object.texts("passEnv", MAX_NAMES, findings).unwrap_or_default();
    for name in &names {
        let mut letters = name.value.chars();
        let starts = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
        if !starts || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            let hint = "name the variable alone; its value is taken from the environment";
            name.wrong_hinted(findings, "environment", "this is no name of an environment variable", hint);
        }
    }
    names.iter().map(|name| name.value.to_owned()).collect()
}

fn metadata(object: &Object<'_>, findings: &mut Findings) -> Map<String, Value> {
    let Some(found) = object.get("metadata") else { return Map::new() };
    let Json::Object(_) = found.value.json else {
        let _ = found.object(findings);
        return Map::new();
    };
    let value = found.value.to_value();
    let bytes = value.to_string().len();
    if bytes > MAX_METADATA_BYTES {
        let message = format!("`metadata` has {bytes} bytes; {MAX_METADATA_BYTES} are the most");
        found.wrong(findings, "too-large", message);
    }
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A number that a range has kept small.
fn small(value: Option<u64>) -> Option<u32> {
    value.and_then(|value| u32::try_from(value).ok())
}
