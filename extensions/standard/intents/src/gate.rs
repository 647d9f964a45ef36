//! Decides whether a call may run under the active intent.
//!
//! Pure.

use crate::intent::IntentSpec;
use crate::scope::{TargetExtent, owners, owns};
use crate::trace_entry::ScopeValidation;

/// No intent is active.
pub(crate) const NO_INTENT: &str = "IN01";
/// The active intent is not declared, or is closed.
pub(crate) const NOT_OPEN: &str = "IN02";
/// A file does not belong to the active intent.
pub(crate) const OUT_OF_SCOPE: &str = "IN03";
/// Another session holds an exclusive claim.
pub(crate) const CLAIMED: &str = "IN04";
/// The changes of the call cannot be determined, and no intent is active.
pub(crate) const UNDETERMINED: &str = "IN05";

/// An agent approves a commit, which only a person may do.
pub(crate) const APPROVAL: &str = "IN06";

const MAX_NAMED: usize = 3;

/// A path that a call changes, with links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallTarget {
    /// In the workspace: relative to its root, with `/` as separator.
    Inside {
        /// The path.
        path: String,
        /// One file or a folder.
        extent: TargetExtent,
    },
    /// Outside the workspace: absolute.
    Outside {
        /// The path.
        path: String,
    },
}

impl CallTarget {
    /// The path as it is shown.
    #[must_use]
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Inside { path, .. } | Self::Outside { path } => path,
        }
    }
}

/// Whether the targets of a call are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TargetCertainty {
    /// The targets are complete.
    Known,
    /// There may be more targets.
    Unknown,
}

/// The input of the decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GateInput<'a> {
    /// The declared intents.
    pub intents: &'a [IntentSpec],
    /// The active intent.
    pub active: Option<&'a str>,
    /// What the call changes.
    pub targets: &'a [CallTarget],
    /// Whether the targets are complete.
    pub certainty: TargetCertainty,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GateDecision {
    /// The call may run.
    Pass(ScopeValidation),
    /// The call may not run.
    Reject {
        /// The code of the rule.
        code: &'static str,
        /// The reason, and what the agent can do instead.
        reason: String,
    },
}

/// Checks that an intent is active, that it is open, and that every target is in its scope.
#[must_use]
pub(crate) fn decide(question: &GateInput<'_>) -> GateDecision {
    let GateInput { intents, active, targets, certainty } = *question;
    if targets.is_empty() && certainty == TargetCertainty::Known {
        return GateDecision::Pass(ScopeValidation::Exempt);
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
        let reason = format!("Intent {active} is {}. ", intent.status.as_str());
        return reject(NOT_OPEN, reason + &instead(intents, targets, Some(active)));
    }
    match targets.iter().find(|target| !is_owned(intent, target)) {
        None => GateDecision::Pass(ScopeValidation::Pass),
        Some(target) => reject(OUT_OF_SCOPE, violation(intents, active, target)),
    }
}

/// Whether a target belongs to an intent.
#[must_use]
pub(crate) fn is_owned(intent: &IntentSpec, target: &CallTarget) -> bool {
    match target {
        CallTarget::Inside { path, extent } => owns(intent, path, *extent),
        CallTarget::Outside { .. } => false,
    }
}

fn reject(code: &'static str, reason: String) -> GateDecision {
    GateDecision::Reject { code, reason }
}

fn no_intent(intents: &[IntentSpec], targets: &[CallTarget]) -> String {
    let why = if targets.is_empty() { "The changes of this call cannot be determined in advance. " } else { "" };
    format!("No active intent. Call select_active_intent first. {why}{}", instead(intents, targets, None))
}

fn violation(intents: &[IntentSpec], active: &str, target: &CallTarget) -> String {
    let path = target.path();
    let text = format!("Scope violation: {path} is not in {active}'s owned_scope");
    match target {
        CallTarget::Outside { .. } => {
            format!(
                "{text}; it is outside the workspace, where no intent owns anything. Keep changes in the workspace."
            )
        }
        CallTarget::Inside { .. } => {
            format!("{text}. {}", instead(intents, std::slice::from_ref(target), Some(active)))
        }
    }
}

/// What the agent can do: select an intent that owns the first target, or ask for one.
fn instead(intents: &[IntentSpec], targets: &[CallTarget], except: Option<&str>) -> String {
    let inside = targets.iter().find_map(|target| match target {
        CallTarget::Inside { path, extent } => Some((path, *extent)),
        CallTarget::Outside { .. } => None,
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

#[cfg(test)]
mod tests;
