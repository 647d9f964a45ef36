//! The interface of a module: its facts as data, and one function from what it sees to an action.
//!
//! Pure.

use crate::action::HookAction;
use crate::context::Context;
use crate::event::{EventName, same_name};

/// What a module says about itself. The manifest may say otherwise where a field says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleSpec<'a> {
    /// Its name in the manifest, in the configuration and in every record it causes.
    pub name: &'a str,
    /// The hook events it handles.
    pub events: &'a [EventName],
    /// Events outside the eight that it handles, as their hosts name them.
    pub host_events: &'a [&'a str],
    /// Lower runs first; the manifest may say otherwise.
    pub priority: i32,
    /// Whether it may run before a tool call; the manifest may say otherwise.
    pub hot_path_safe: bool,
    /// Whether its failure denies a tool call; the manifest may say otherwise.
    pub critical: bool,
    /// Whether it runs where the manifest has no list of modules.
    pub on_by_default: bool,
    /// Whether it keeps the session's record: its `PROMPT` records are the user's prompts, and its stamps count.
    pub keeps_session: bool,
    /// Whether its rewrites count where the manifest names no rewrite owner.
    pub rewrites_input: bool,
}

impl<'a> ModuleSpec<'a> {
    /// A module that has only a name: it handles no event, runs last, and nothing depends on it.
    #[must_use]
    pub const fn named(name: &'a str) -> Self {
        Self {
            name,
            events: &[],
            host_events: &[],
            priority: 100,
            hot_path_safe: false,
            critical: false,
            on_by_default: false,
            keeps_session: false,
            rewrites_input: false,
        }
    }

    /// Whether it handles this event.
    #[must_use]
    pub fn handles(&self, event: &EventName) -> bool {
        let EventName::Other(fired) = event else {
            return self.events.contains(event);
        };
        self.host_events.iter().any(|own| own.eq_ignore_ascii_case(fired))
            || self.events.iter().any(|own| matches!(own, EventName::Other(own) if same_name(own, fired)))
    }
}

/// One policy unit of the pipeline.
///
/// A module is a function from values to a value: it reads the context, which reads little and
/// only when asked, and it changes nothing itself.
pub trait Module {
    /// Its facts.
    fn spec(&self) -> ModuleSpec<'_>;

    /// Looks at the event.
    ///
    /// # Errors
    /// When it cannot do its work. Whether that blocks anything is decided by its `critical` flag.
    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError>;
}

/// Why a module could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// What the module says about it.
    #[error("{0}")]
    Failed(String),
    /// It panicked.
    #[error("panicked: {0}")]
    Panicked(String),
    /// It was stopped at its deadline.
    #[error("stopped at its deadline: {0}")]
    Deadline(String),
}

impl ModuleError {
    /// A failure in words.
    pub fn failed(cause: impl std::fmt::Display) -> Self {
        Self::Failed(cause.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_handles_the_events_it_names_in_any_spelling_of_the_host() {
        let events = [EventName::Stop, EventName::Other("worktree_create".to_owned())];
        let spec = ModuleSpec { events: &events, host_events: &["SessionEnd"], ..ModuleSpec::named("example") };
        let table = [
            (EventName::Stop, true),
            (EventName::PreToolUse, false),
            (EventName::Other("WorktreeCreate".to_owned()), true),
            (EventName::Other("sessionEnd".to_owned()), true),
            (EventName::Other("Notification".to_owned()), false),
        ];
        for (event, expected) in table {
            assert_eq!(spec.handles(&event), expected, "{event}");
        }
    }
}
