//! The one spelling of a hook that its fingerprint is taken of.
//!
//! Pure.

use crate::contract::{Action, AgentPermissions, Hook, RunPlace, Runner, SessionScope};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// SHA-256 of the hook with every default filled in, in hex. The order of keys, blanks and line ends do not count.
pub(crate) fn fingerprint(hook: &Hook) -> String {
    dispatch_trust::fingerprint(canonical_text(hook).as_bytes())
}

/// The hook in its one spelling, as JSON.
pub(crate) fn canonical_text(hook: &Hook) -> String {
    // Every key is text, so there is a form in JSON; whatever happens, no two hooks are spelled alike.
    serde_json::to_string(&CanonicalHook::of(hook)).unwrap_or_else(|_| format!("{hook:?}"))
}

/// A hook with its keys in order; what is small, or free in its form, is a value whose keys are in order too.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CanonicalHook<'a> {
    action: Value,
    allow_git: bool,
    #[serde(skip_serializing_if = "is_off")]
    batch: bool,
    #[serde(skip_serializing_if = "is_off")]
    blocking: bool,
    budget: Value,
    #[serde(skip_serializing_if = "is_off")]
    chain: bool,
    concurrency: u32,
    debounce_ms: u64,
    enabled: bool,
    id: &'a str,
    metadata: Value,
    pass_env: &'a [String],
    pattern: &'a [String],
    /// Where it is not what follows from the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<AgentPermissions>,
    place: RunPlace,
    rate_limit: Value,
    repo_root: Option<&'a str>,
    #[serde(skip_serializing_if = "is_off")]
    restart: bool,
    retry: Value,
    schedule: Option<&'a str>,
    secret_patterns: &'a [String],
    tell_agent: bool,
    timeout_ms: u64,
    trigger: String,
}

impl<'a> CanonicalHook<'a> {
    fn of(hook: &'a Hook) -> Self {
        let action = match &hook.action {
            Action::Prompt(prompt) => json!({ "prompt": prompt, "runner": runner(&hook.runner) }),
            Action::Command(command) => json!({ "command": command }),
        };
        Self {
            action: sorted(action),
            allow_git: hook.allow_git,
            batch: hook.batch,
            blocking: hook.blocking,
            budget: sorted(json!(hook.budget)),
            chain: hook.chain,
            concurrency: hook.concurrency,
            debounce_ms: hook.debounce_ms,
            enabled: hook.enabled,
            id: &hook.id,
            metadata: sorted(json!(hook.metadata)),
            pass_env: &hook.pass_env,
            pattern: &hook.pattern,
            permissions: Some(hook.permissions).filter(|it| *it != AgentPermissions::of_place(hook.place)),
            place: hook.place,
            rate_limit: sorted(json!(hook.rate_limit)),
            repo_root: hook.repo_root.as_deref(),
            restart: hook.restart,
            retry: sorted(json!(hook.retry)),
            schedule: hook.schedule.as_deref(),
            secret_patterns: &hook.secret_patterns,
            tell_agent: hook.tell_agent,
            timeout_ms: hook.timeout_ms,
            trigger: hook.trigger.to_string(),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_off(flag: &bool) -> bool {
    !*flag
}

fn runner(runner: &Runner) -> Value {
    match runner {
        Runner::Agent { session } => json!({ "agent": session_word(*session) }),
        // A template that changes with the program is still the one that the user approved by its name.
        Runner::External(template) if template.name != "custom" => json!(template.name),
        Runner::External(template) => json!({ "command": template.command }),
        Runner::Http { url, headers } => json!({ "http": url, "headers": headers }),
    }
}

const fn session_word(session: SessionScope) -> &'static str {
    match session {
        SessionScope::Hook => "hook",
        SessionScope::File => "file",
        SessionScope::Run => "run",
    }
}

/// The value with the keys of every object in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An approval is for a fingerprint, so the spelling must stay as it is.
    #[test]
    fn the_spelling_is_in_order_and_stays_as_it_is() {
        let metadata = json!({ "z": 1, "a": { "y": [], "b": null } });
        let hook =
            Hook { metadata: metadata.as_object().cloned().unwrap_or_default(), ..crate::tests::hooks::hook("lint") };
        let text = serde_json::to_string(&CanonicalHook::of(&hook)).unwrap();
        let expected = concat!(
            r#"{"action":{"command":["true"]},"allowGit":false,"#,
            r#""budget":{"microUsdPerDay":null,"tokensPerDay":null},"concurrency":4,"debounceMs":200,"enabled":true,"#,
            r#""id":"lint","metadata":{"a":{"b":null,"y":[]},"z":1},"passEnv":[],"pattern":[],"place":"tree","#,
            r#""rateLimit":null,"repoRoot":null,"retry":{"backoffFactor":2.0,"backoffMs":1000,"count":0},"#,
            r#""schedule":null,"secretPatterns":[],"tellAgent":false,"timeoutMs":60000,"#,
            r#""trigger":"onDidSaveTextDocument"}"#,
        );
        assert_eq!(text, expected);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(sorted(value).to_string(), text);
    }
}
