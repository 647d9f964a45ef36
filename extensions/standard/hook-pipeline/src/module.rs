//! The interface of a module: one policy unit that looks at a hook event and hands back an action.

use crate::action::HookAction;
use crate::context::Context;
use crate::event::EventName;

/// One policy unit of the pipeline.
///
/// A module is a function from values to a value: it reads the context, which reads little and
/// only when asked, and it changes nothing itself.
pub trait Module {
    /// Its name in the manifest, in the configuration and in every record it causes.
    fn name(&self) -> &str;

    /// Whether it wants to see this event.
    fn supports(&self, event: &EventName) -> bool;

    /// Lower runs first; the manifest may say otherwise.
    fn priority(&self) -> i32;

    /// Whether it may run before a tool call; the manifest may say otherwise.
    fn hot_path_safe(&self) -> bool;

    /// Whether its failure denies a tool call; the manifest may say otherwise.
    fn critical(&self) -> bool;

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
