//! The two files of rules that people write: which work is delegated, and which reminders are given.

use schemars::JsonSchema;

use crate::followup::FollowupRule;
use crate::modules::DelegationRule;

/// Work that has to be delegated to a subagent first.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct RlmPolicy {
    rules: Vec<DelegationRule>,
}

/// Reminders for the right moment.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) struct FollowupFile {
    rules: Vec<FollowupRule>,
}
