//! The one spelling of a hook that its fingerprint is taken of.

use crate::contract::{Action, Hook, Runner, SessionScope};
use serde_json::{Map, Value, json};

/// SHA-256 of the hook with every default filled in, in hex. The order of keys, blanks and line ends do not count.
pub(crate) fn fingerprint(hook: &Hook) -> String {
    dispatch_trust::fingerprint(sorted(canonical(hook)).to_string().as_bytes())
}

fn canonical(hook: &Hook) -> Value {
    let action = match &hook.action {
        Action::Prompt(prompt) => json!({ "prompt": prompt, "runner": runner(&hook.runner) }),
        Action::Command(command) => json!({ "command": command }),
    };
    json!({
        "id": hook.id,
        "trigger": hook.trigger.to_string(),
        "pattern": hook.pattern,
        "action": action,
        "place": hook.place,
        "enabled": hook.enabled,
        "concurrency": hook.concurrency,
        "timeoutMs": hook.timeout_ms,
        "retry": hook.retry,
        "debounceMs": hook.debounce_ms,
        "rateLimit": hook.rate_limit,
        "budget": hook.budget,
        "allowGit": hook.allow_git,
        "repoRoot": hook.repo_root,
        "schedule": hook.schedule,
        "secretPatterns": hook.secret_patterns,
        "passEnv": hook.pass_env,
        "tellAgent": hook.tell_agent,
        "metadata": hook.metadata,
    })
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
