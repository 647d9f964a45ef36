//! Gives an agent, at the start of a turn, the results of the workspace hooks that ran since the last one.

mod inbox;
mod text;

#[cfg(test)]
mod tests;

use dispatch_hook_module::{Context, Effects, EventName, HookAction, Module, ModuleError, ModuleSpec};

use inbox::ResultsInbox;
use text::ResultsText;

/// The name of the module.
pub const NAME: &str = "workspace-results";

/// Passes on the notes of background runs in `.akira/inbox`. Without that folder it does nothing.
pub(crate) struct WorkspaceResults;

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::SessionStart, EventName::UserPromptSubmit],
    priority: 70,
    ..ModuleSpec::named(NAME)
};

impl Module for WorkspaceResults {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let Some(inbox) = ResultsInbox::open(&ctx.paths.repo_root) else {
            return Ok(HookAction::none());
        };
        let mut told = ResultsText::default();
        for file in inbox.oldest_first() {
            let Some(note) = inbox.read(file) else { continue };
            if !told.has_room_for(&note) || ctx.timers.remaining().is_zero() {
                told.leave();
                continue;
            }
            // Of two sessions that read at the same time, the one that removes a note passes it on.
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
