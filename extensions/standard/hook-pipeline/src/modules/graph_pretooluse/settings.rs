//! What users may change about the guard: `rules`, `maxFiles`, `scratch`.
//!
//! Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::rules::{GuardRule, RuleSeverity};

/// Files of a workspace above which a search needs a pattern.
const DEFAULT_MAX_FILES: u64 = 50_000;

/// Folders below which a named folder may be removed although it lies outside the workspace.
const DEFAULT_SCRATCH: [&str; 5] = ["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm"];

/// The section `graph-pretooluse` of the configuration.
#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GraphPretooluseSettings {
    /// Severity by code, where it differs from the rule's own.
    rules: BTreeMap<String, RuleSeverity>,
    pub(super) max_files: u64,
    pub(super) scratch: Vec<String>,
}

impl Default for GraphPretooluseSettings {
    fn default() -> Self {
        Self {
            rules: BTreeMap::new(),
            max_files: DEFAULT_MAX_FILES,
            scratch: DEFAULT_SCRATCH.map(str::to_owned).to_vec(),
        }
    }
}

impl GraphPretooluseSettings {
    pub(super) fn severity(&self, rule: &GuardRule) -> RuleSeverity {
        let set = self.rules.iter().find(|(code, _)| code.eq_ignore_ascii_case(rule.code));
        set.map_or(rule.severity, |(_, severity)| *severity)
    }
}
