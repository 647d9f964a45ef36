//! Decides, from values alone, whether a call may run under the active intent.

use crate::entry::ScopeValidation;
use crate::intent::{IntentSpec, IntentStatus};
use crate::scope::{Extent, owners, owns};

/// No intent is active.
pub const NO_INTENT: &str = "IN01";
/// The active intent is not declared, or closed.
pub const NOT_OPEN: &str = "IN02";
/// A file does not belong to the active intent.
pub const OUT_OF_SCOPE: &str = "IN03";
/// Another session works alone on it.
pub const CLAIMED: &str = "IN04";
/// What the call changes cannot be told, and no intent is active.
pub const UNDETERMINED: &str = "IN05";

const MAX_NAMED: usize = 3;

/// One path that a call changes, links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// In the workspace: from its root, `/` between the parts.
    Inside {
        /// The path.
        path: String,
        /// One file or a folder.
        extent: Extent,
    },
    /// Somewhere else: absolute.
    Outside {
        /// The path.
        path: String,
    },
}

impl Target {
    /// The path as it is told.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Inside { path, .. } | Self::Outside { path } => path,
        }
    }
}

/// Whether everything that a call changes is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The targets are all there is.
    Known,
    /// There may be more.
    Unknown,
}

/// What is to be decided.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The declared intents.
    pub intents: &'a [IntentSpec],
    /// The active one.
    pub active: Option<&'a str>,
    /// What the call changes.
    pub targets: &'a [Target],
    /// Whether that is all.
    pub certainty: Certainty,
}

/// What is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// The call may run.
    Pass(ScopeValidation),
    /// It may not.
    Reject {
        /// Which rule.
        code: &'static str,
        /// Why, and what is possible instead.
        reason: String,
    },
}

/// The chain: an intent is active, it is open, every target is in its scope.
#[must_use]
pub fn decide(question: &Question<'_>) -> Gate {
    let Question { intents, active, targets, certainty } = *question;
    if targets.is_empty() && certainty == Certainty::Known {
        return Gate::Pass(ScopeValidation::Exempt);
    }
    let Some(active) = active else {
        let code = if targets.is_empty() { UNDETERMINED } else { NO_INTENT };
        return reject(code, no_intent(intents, targets));
    };
    let Some(intent) = intents.iter().find(|intent| intent.id == active) else {
        let reason = format!("Intent {active} is not declared in .orchestration/active_intents.yaml. ");
        return reject(NOT_OPEN, reason + &instead(intents, targets, None));
    };
    if !intent.status.is_open() {
        let reason = format!("Intent {active} is {}. ", status_name(intent.status));
        return reject(NOT_OPEN, reason + &instead(intents, targets, Some(active)));
    }
    match targets.iter().find(|target| !is_owned(intent, target)) {
        None => Gate::Pass(ScopeValidation::Pass),
        Some(target) => reject(OUT_OF_SCOPE, violation(intents, active, target)),
    }
}

/// Whether a target belongs to an intent.
#[must_use]
pub fn is_owned(intent: &IntentSpec, target: &Target) -> bool {
    match target {
        Target::Inside { path, extent } => owns(intent, path, *extent),
        Target::Outside { .. } => false,
    }
}

fn reject(code: &'static str, reason: String) -> Gate {
    Gate::Reject { code, reason }
}

fn no_intent(intents: &[IntentSpec], targets: &[Target]) -> String {
    let why = if targets.is_empty() { "What this call changes cannot be told beforehand. " } else { "" };
    format!("No active intent. Call select_active_intent first. {why}{}", instead(intents, targets, None))
}

fn violation(intents: &[IntentSpec], active: &str, target: &Target) -> String {
    let path = target.path();
    let text = format!("Scope violation: {path} is not in {active}'s owned_scope");
    match target {
        Target::Outside { .. } => {
            format!(
                "{text}; it is outside the workspace, where no intent owns anything. Keep changes in the workspace."
            )
        }
        Target::Inside { .. } => {
            format!("{text}. {}", instead(intents, std::slice::from_ref(target), Some(active)))
        }
    }
}

/// What the agent can do: select an owner of the first target, or ask for one.
fn instead(intents: &[IntentSpec], targets: &[Target], except: Option<&str>) -> String {
    let inside = targets.iter().find_map(|target| match target {
        Target::Inside { path, extent } => Some((path, *extent)),
        Target::Outside { .. } => None,
    });
    let Some((path, extent)) = inside else {
        return open_ones(intents, except);
    };
    let found = owners(intents, path, extent, MAX_NAMED + 1);
    let names: Vec<&IntentSpec> = found.into_iter().filter(|intent| Some(intent.id.as_str()) != except).collect();
    if names.is_empty() {
        return format!(
            "No other open intent owns {path}: ask the user to declare one (`dispatch intent new`) or to widen a scope."
        );
    }
    let verb = if names.len() == 1 { "owns" } else { "own" };
    format!("{} {verb} {path}: {}", list(&names), how_to_select(&names))
}

fn open_ones(intents: &[IntentSpec], except: Option<&str>) -> String {
    let open = intents.iter().filter(|intent| intent.status.is_open() && Some(intent.id.as_str()) != except);
    let names: Vec<&IntentSpec> = open.take(MAX_NAMED).collect();
    if names.is_empty() {
        return "No intent is open: ask the user to declare one (`dispatch intent new`).".to_owned();
    }
    format!("Open: {}. {}", list(&names), how_to_select(&names))
}

fn list(intents: &[&IntentSpec]) -> String {
    let names: Vec<String> =
        intents.iter().take(MAX_NAMED).map(|intent| format!("{} ({})", intent.id, intent.name)).collect();
    names.join(", ")
}

fn how_to_select(intents: &[&IntentSpec]) -> String {
    let id = intents.first().map_or("ID", |intent| intent.id.as_str());
    format!("call select_active_intent with intent_id \"{id}\", or run `dispatch intent select {id}`.")
}

fn status_name(status: IntentStatus) -> &'static str {
    match status {
        IntentStatus::Planned => "PLANNED",
        IntentStatus::InProgress => "IN_PROGRESS",
        IntentStatus::Completed => "COMPLETED",
        IntentStatus::Blocked => "BLOCKED",
        IntentStatus::Abandoned => "ABANDONED",
    }
}

#[cfg(test)]
mod tests;
