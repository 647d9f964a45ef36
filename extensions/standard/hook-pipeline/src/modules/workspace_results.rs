//! Tells an agent, at the start of a turn, what the workspace hooks that ran meanwhile came to.

mod inbox;
mod text;

#[cfg(test)]
mod tests;

use crate::action::HookAction;
use crate::context::{Context, Effects};
use crate::event::EventName;
use crate::module::{Module, ModuleError};
use inbox::Inbox;
use text::Told;

const NAME: &str = "workspace-results";

/// Hands on what background runs left in `.akira/inbox`. Without that folder it does nothing.
pub struct WorkspaceResults;

impl Module for WorkspaceResults {
    fn name(&self) -> &str {
        NAME
    }

    fn supports(&self, event: &EventName) -> bool {
        matches!(event, EventName::SessionStart | EventName::UserPromptSubmit)
    }

    fn priority(&self) -> i32 {
        70
    }

    fn hot_path_safe(&self) -> bool {
        false
    }

    fn critical(&self) -> bool {
        false
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let Some(inbox) = Inbox::open(&ctx.paths.repo_root) else {
            return Ok(HookAction::none());
        };
        let mut told = Told::default();
        for file in inbox.oldest_first() {
            let Some(note) = inbox.read(file) else { continue };
            if !told.has_room_for(&note) || ctx.timers.remaining().is_zero() {
                told.leave();
                continue;
            }
            // Of two sessions that ask at the same time, the one that removes a note tells it.
            if ctx.effects == Effects::DryRun || inbox.take(file) {
                told.tell(&note);
            }
        }
        Ok(match told.text() {
            Some(text) => HookAction::none().with_context(NAME, text),
            None => HookAction::none(),
        })
    }
}
