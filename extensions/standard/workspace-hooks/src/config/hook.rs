//! One hook of the file: every rule it has to keep, and the defaults of what it does not say.
//!
//! Pure.

mod trigger_fields;

use super::fields::{ConfigObject, Located, in_range};
use super::file::{ParseContext, SharedChecks};
use super::findings::Findings;
use super::json::JsonValue;
use super::keys::FlagKey;
use super::limits::{MAX_ID_CHARS, MAX_METADATA_BYTES, MAX_PROMPT_BYTES};
use super::{canonical, format, runner};
use crate::contract::{Action, AgentPermissions, Budget, Hook, RateLimit, Retry, RunPlace, Trigger};
use serde_json::{Map, Value};

/// How long files that change together are waited for, unless the hook says it.
const BATCH_DEBOUNCE_MS: u64 = 1_000;

/// The hook, or findings about it.
pub(crate) fn read(
    object: &ConfigObject<'_>,
    around: &ParseContext<'_>,
    shared: &mut SharedChecks,
    findings: &mut Findings,
) -> Option<Hook> {
    let before = findings.total();
    object.refuse_unknown(&format::HOOK.names(), findings);
    let id = id(object, findings);
    let started = trigger_fields::read(object, around, shared, findings);
    let action = action(object, findings);
    let session = object.choice(&format::SESSION, findings).unwrap_or_default();
    let runner = runner::read(object, session, findings);
    let mut secret_patterns = shared.secret_patterns.clone();
    let before_own = secret_patterns.len() + around.secret_patterns.len();
    secret_patterns.extend(shared.regexes.read(object, before_own, findings));
    let place = object.choice(&format::PLACE, findings).unwrap_or_default();
    let permissions = permissions(object, action.as_ref(), place, findings);
    let batch = file_flag(object, &format::BATCH, started.trigger.as_ref(), findings);
    let restart = object.flag_or_default(&format::RESTART, findings);
    let chain = file_flag(object, &format::CHAIN, started.trigger.as_ref(), findings);
    let blocking = blocking(object, started.trigger.as_ref(), findings);
    let enabled = object.flag_or_default(&format::ENABLED, findings);
    let concurrency = object.small_or_default(&format::CONCURRENCY, findings);
    let timeout_ms = timeout(object, findings);
    let retry = retry(object, findings);
    let debounce_ms = match object.get(format::DEBOUNCE_MS.name) {
        None if batch => BATCH_DEBOUNCE_MS,
        _ => object.whole_or_default(&format::DEBOUNCE_MS, findings),
    };
    let rate_limit = rate_limit(object, findings);
    let budget = budget(object, findings);
    let pass_env = pass_env(object, findings);
    let tell_agent = object.flag_or_default(&format::TELL_AGENT, findings);
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
        permissions,
        batch,
        restart,
        chain,
        blocking,
        enabled,
        concurrency,
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

fn permissions(
    object: &ConfigObject<'_>,
    action: Option<&Action>,
    place: RunPlace,
    findings: &mut Findings,
) -> AgentPermissions {
    let stated = object.choice(&format::PERMISSIONS, findings);
    if let (Some(_), Some(Action::Command(_)), Some(found)) = (stated, action, object.get("permissions")) {
        let message = "`permissions` is only for a hook with a `prompt`";
        found.wrong_hinted(findings, "action", message, "remove it; a program may do what its user may");
    }
    stated.unwrap_or(AgentPermissions::of_place(place))
}

/// A flag that means something for hooks of files alone.
fn file_flag(object: &ConfigObject<'_>, key: &FlagKey, trigger: Option<&Trigger>, findings: &mut Findings) -> bool {
    let set = object.flag_or_default(key, findings);
    if let (true, Some(trigger), Some(found)) = (set, trigger, object.get(key.name))
        && !trigger.is_of_files()
    {
        let message = format!("`{}` is only for a hook that files start", key.name);
        found.wrong_hinted(findings, "trigger", message, "remove it, or use a trigger such as onDidSaveTextDocument");
    }
    set
}

/// Git waits for hooks alone that can keep it from going on.
fn blocking(object: &ConfigObject<'_>, trigger: Option<&Trigger>, findings: &mut Findings) -> bool {
    let set = object.flag_or_default(&format::BLOCKING, findings);
    if let (true, Some(trigger), Some(found)) = (set, trigger, object.get(format::BLOCKING.name))
        && !trigger.can_block()
    {
        let message = "`blocking` is only for git hooks that can refuse";
        found.wrong_hinted(
            findings,
            "trigger",
            message,
            "use git:pre-commit, git:pre-push, git:commit-msg or git:pre-rebase",
        );
    }
    set
}

fn id(object: &ConfigObject<'_>, findings: &mut Findings) -> Option<String> {
    let Some(found) = object.get("id") else {
        object.missing(findings, "id", "give the hook a name that no other hook has");
        return None;
    };
    let id = found.text(findings)?;
    let wrong = if id.value.trim().is_empty() {
        Some("the id is empty")
    } else if id.value.trim() != id.value {
        Some("the id begins or ends with white space")
    } else if id.value.chars().any(char::is_control) {
        Some("the id contains a control character")
    } else if id.value.chars().count() > MAX_ID_CHARS {
        Some("the id is longer than 120 characters")
    } else {
        None
    };
    if let Some(message) = wrong {
        id.wrong(findings, "id", message);
        return None;
    }
    Some(id.value.to_owned())
}

fn action(object: &ConfigObject<'_>, findings: &mut Findings) -> Option<Action> {
    match (object.get("prompt"), object.get("command")) {
        (Some(prompt), None) => prompt_text(prompt.text(findings)?, findings).map(Action::Prompt),
        (None, Some(_)) => {
            if let Some(runner) = object.get("runner") {
                let hint = "remove `runner`, or write a `prompt` instead of the `command`";
                runner.wrong_hinted(findings, "action", "`runner` is only for a hook with a `prompt`", hint);
            }
            runner::arguments(object, findings).map(Action::Command)
        }
        (Some(_), Some(command)) => {
            let hint = "keep one of them, or make two hooks";
            command.wrong_hinted(findings, "action", "a hook cannot have both `prompt` and `command`", hint);
            None
        }
        (None, None) => {
            let hint = "write what an agent is asked as `prompt`, or a program with its arguments as `command`";
            object.missing(findings, "prompt", hint);
            None
        }
    }
}

fn prompt_text(prompt: Located<&str>, findings: &mut Findings) -> Option<String> {
    if prompt.value.trim().is_empty() {
        prompt.wrong(findings, "action", "the prompt is empty");
        return None;
    }
    if prompt.value.len() > MAX_PROMPT_BYTES {
        let message = format!("the prompt has {} bytes, more than the limit of {MAX_PROMPT_BYTES}", prompt.value.len());
        prompt.wrong(findings, "too-large", message);
        return None;
    }
    if prompt.value.contains('\0') {
        prompt.wrong(findings, "action", "the prompt contains the character U+0000");
        return None;
    }
    Some(prompt.value.to_owned())
}

fn timeout(object: &ConfigObject<'_>, findings: &mut Findings) -> u64 {
    let key = &format::TIMEOUT_MS;
    let default = key.default.unwrap_or_default();
    let Some(found) = object.any_whole(key, findings) else { return default };
    if found.value == 0 {
        let hint = "omit `timeoutMs` for the default of 60000 (a minute); the most is 86400000 (a day)";
        found.wrong_hinted(findings, key.rule, "invalid `timeoutMs` 0: every run has a time limit", hint);
        return default;
    }
    in_range(&found, (key.name, key.rule), &key.range, findings).unwrap_or(default)
}

fn retry(object: &ConfigObject<'_>, findings: &mut Findings) -> Retry {
    let nothing = ConfigObject { members: &[], at: object.at, pointer: String::new() };
    let written = object.object(&format::RETRY, findings);
    if let Some(retry) = written.as_ref().filter(|retry| retry.get(format::RETRY_COUNT.name).is_none()) {
        retry.missing(findings, format::RETRY_COUNT.name, "say how many times a failed run is repeated");
    }
    let retry = written.unwrap_or(nothing);
    let factor = retry.number(&format::BACKOFF_FACTOR, findings).or(format::BACKOFF_FACTOR.default);
    Retry {
        count: retry.small_or_default(&format::RETRY_COUNT, findings),
        backoff_ms: retry.whole_or_default(&format::BACKOFF_MS, findings),
        backoff_factor: factor.unwrap_or_default(),
    }
}

fn rate_limit(object: &ConfigObject<'_>, findings: &mut Findings) -> Option<RateLimit> {
    let limit = object.object(&format::RATE_LIMIT, findings)?;
    for key in format::RATE_LIMIT.shape.required.iter().filter(|key| limit.get(key).is_none()) {
        limit.missing(findings, key, "a rate limit has both `runs` and `perMs`");
    }
    let runs = limit.whole(&format::RATE_RUNS, findings).and_then(|runs| u32::try_from(runs).ok());
    let per_ms = limit.whole(&format::RATE_SPAN_MS, findings);
    Some(RateLimit { runs: runs?, per_ms: per_ms? })
}

fn budget(object: &ConfigObject<'_>, findings: &mut Findings) -> Budget {
    let Some(budget) = object.object(&format::BUDGET, findings) else { return Budget::default() };
    let dollars = budget.number(&format::USD_PER_DAY, findings);
    Budget {
        tokens_per_day: budget.whole(&format::TOKENS_PER_DAY, findings),
        micro_usd_per_day: dollars.and_then(|dollars| format!("{:.0}", dollars * 1_000_000.0).parse().ok()),
    }
}

fn pass_env(object: &ConfigObject<'_>, findings: &mut Findings) -> Vec<String> {
    let names = object.texts(&format::PASS_ENV, findings).unwrap_or_default();
    for name in &names {
        let mut letters = name.value.chars();
        let starts = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
        if !starts || !letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            let hint = "write only the name; the value is taken from the environment";
            name.wrong_hinted(findings, "environment", "invalid environment variable name", hint);
        }
    }
    names.iter().map(|name| name.value.to_owned()).collect()
}

fn metadata(object: &ConfigObject<'_>, findings: &mut Findings) -> Map<String, Value> {
    let Some(found) = object.get("metadata") else { return Map::new() };
    let JsonValue::Object(_) = found.value.json else {
        let _ = found.object(findings);
        return Map::new();
    };
    let value = found.value.to_value();
    let bytes = value.to_string().len();
    if bytes > MAX_METADATA_BYTES {
        let message = format!("`metadata` has {bytes} bytes, more than the limit of {MAX_METADATA_BYTES}");
        found.wrong(findings, "too-large", message);
    }
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
