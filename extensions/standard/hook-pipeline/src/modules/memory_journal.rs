//! Writes down what happened in a session and may be worth remembering, and at its end what that comes to.

mod attempt;
mod keeping;
mod preference;
mod prompt;
mod stop;
mod tool;

#[cfg(test)]
mod tests;

use dispatch_hook_module::digest::short_key;
use dispatch_hook_module::{Context, EventName, FileWrite, HookAction, Module, ModuleError, ModuleSpec};
use serde::Deserialize;

use crate::memory::{EXPERIENCE_FILE, Experience, ExperienceKind, JOURNAL, parse_experiences};

/// The largest `experience.jsonl` that is read back.
const EXPERIENCE_LIMIT_BYTES: u64 = 8 * 1024 * 1024;

/// Keeps the journal.
pub(crate) struct MemoryJournal;

/// What can be set for the module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MemoryJournalSettings {
    /// The longest text of one entry.
    text_chars: usize,
}

impl Default for MemoryJournalSettings {
    fn default() -> Self {
        Self { text_chars: 300 }
    }
}

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec {
    events: &[EventName::UserPromptSubmit, EventName::PostToolUse, EventName::Stop],
    priority: 50,
    ..ModuleSpec::named(JOURNAL)
};

impl Module for MemoryJournal {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        Ok(match ctx.event.name {
            EventName::UserPromptSubmit => prompt::submitted(ctx),
            EventName::PostToolUse => tool::ended(ctx),
            EventName::Stop => stop::stop(ctx),
            _ => HookAction::none(),
        })
    }
}

/// What the session wrote down so far; nothing once it is too much to read.
fn journal(ctx: &Context<'_>) -> Option<Vec<Experience>> {
    let file = ctx.folders.output.join(EXPERIENCE_FILE);
    match ctx.session.read(&file, EXPERIENCE_LIMIT_BYTES) {
        Some(bytes) => Some(parse_experiences(&bytes)),
        None => ctx.session.modified_ms(&file).is_none().then(Vec::new),
    }
}

/// An entry about this event. `which` tells apart several entries of one event.
fn entry(ctx: &Context<'_>, which: &str, what: ExperienceKind) -> Experience {
    let call = ctx.event.tool_use_id.as_deref();
    let parts = [ctx.ids.session_id.as_str(), &ctx.ids.hook_run_id, call.unwrap_or_default(), which];
    Experience {
        id: short_key(&parts.map(str::as_bytes)),
        ts: dispatch_os::time::rfc3339(ctx.timers.start_ms),
        turn_id: ctx.ids.turn_id,
        hook_run_id: ctx.ids.hook_run_id.clone(),
        tool_use_id: call.map(str::to_owned),
        what,
    }
}

/// The entries as lines at the end of the journal; no file for none.
fn appended(action: HookAction, entries: &[Experience]) -> HookAction {
    let lines: Vec<String> = entries.iter().filter_map(|entry| serde_json::to_string(entry).ok()).collect();
    if lines.is_empty() {
        return action;
    }
    action.with_file(FileWrite::append(EXPERIENCE_FILE, lines.join("\n") + "\n"))
}
