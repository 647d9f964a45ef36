//! SimulatedHooks for tests.

use crate::contract::{Action, AgentPermissions, Budget, Hook, Retry, RunPlace, Runner, SessionScope, Trigger};

/// A hook that runs on each save.
pub(crate) fn hook(id: &str) -> Hook {
    Hook {
        id: id.to_owned(),
        trigger: Trigger::DidSave,
        pattern: Vec::new(),
        action: Action::Command(vec!["true".to_owned()]),
        runner: Runner::Agent { session: SessionScope::Hook },
        place: RunPlace::Tree,
        permissions: AgentPermissions::Read,
        batch: false,
        restart: false,
        chain: false,
        blocking: false,
        enabled: true,
        concurrency: 4,
        timeout_ms: 60_000,
        retry: Retry { count: 0, backoff_ms: 1_000, backoff_factor: 2.0 },
        debounce_ms: 200,
        rate_limit: None,
        budget: Budget::default(),
        allow_git: false,
        repo_root: None,
        schedule: None,
        secret_patterns: Vec::new(),
        pass_env: Vec::new(),
        tell_agent: false,
        metadata: serde_json::Map::new(),
        fingerprint: id.to_owned(),
    }
}
