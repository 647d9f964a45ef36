//! The hooks of a workspace that are in force, and what keeps the others from it.
//!
//! Pure.

use super::hook::{Hook, HookLimits};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is wrong with a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The row, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// Which value, as a JSON pointer.
    pub pointer: String,
    /// The rule, one word for each: `duplicate-id`, `git-safety`.
    pub rule: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Why a hook that is written down does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dormant {
    /// The hook.
    pub hook_id: String,
    /// Why: it is not approved, or its trigger could not be set up.
    pub reason: String,
    /// Whether it runs as soon as the user approves it.
    #[serde(default)]
    pub waits_for_approval: bool,
}

/// The hooks of a workspace as they are in force.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookSet {
    /// Those that events can start, in the order they are written down.
    pub hooks: Vec<Arc<Hook>>,
    /// Those that are written down and do not run.
    pub dormant: Vec<Dormant>,
    /// Limits of all hooks together.
    pub limits: HookLimits,
    /// What is wrong with the file as it is now. If there is any, `hooks` are those of the last valid one.
    pub problems: Vec<Problem>,
}

impl HookSet {
    /// The hooks that run as soon as the user approves them.
    pub fn waiting_for_approval(&self) -> impl Iterator<Item = &str> {
        self.dormant.iter().filter(|dormant| dormant.waits_for_approval).map(|dormant| dormant.hook_id.as_str())
    }
}
