//! Writes, at the end of a turn, a summary of the session and drafts of its decisions.
//!
//! Pure.

mod adr;
mod decision;
mod denials;
mod drafts;
mod facts;
mod failures;
mod path_rules;
mod plan;
mod summary;

#[cfg(test)]
mod tests;

use std::path::Path;

use dispatch_hook_module::{Artifact, Context, EventName, FileWrite, HookAction, Module, ModuleError, ModuleSpec};

use crate::memory::{EXPERIENCE_FILE, JOURNAL, parse_experiences};

use facts::SessionFacts;
use path_rules::PathRules;

const SUMMARY_FILE: &str = "summary.md";
/// The largest journal that is read.
const EXPERIENCE_LIMIT_BYTES: u64 = 8 * 1024 * 1024;

/// Sums up.
pub(crate) struct StopSynth;

/// The facts of the module.
const SPEC: ModuleSpec<'static> = ModuleSpec { events: &[EventName::Stop], ..ModuleSpec::named("stop-synth") };

impl Module for StopSynth {
    fn spec(&self) -> ModuleSpec<'_> {
        SPEC
    }

    fn handle(&self, ctx: &Context<'_>) -> Result<HookAction, ModuleError> {
        let journal = ctx.paths.module_output(JOURNAL).join(EXPERIENCE_FILE);
        let experiences = ctx.session.read(&journal, EXPERIENCE_LIMIT_BYTES).unwrap_or_default();
        let facts = SessionFacts::of(ctx, &parse_experiences(&experiences));
        let mut action = HookAction::none();
        action = keep(ctx, action, "summary", SUMMARY_FILE, summary::render(&facts));
        for (path, content) in adr::files(ctx, &drafts::drafts(&facts, &PathRules::of(ctx))) {
            action = keep(ctx, action, "adr", &path, content);
        }
        Ok(action)
    }
}

/// Writes a file; one that is new is registered too.
fn keep(ctx: &Context<'_>, mut action: HookAction, kind: &str, path: &str, content: String) -> HookAction {
    let file = ctx.folders.output.join(Path::new(path));
    let is_new = ctx.session.modified_ms(&file).is_none();
    if let Some(path) = ctx.paths.rel_ref(&file).filter(|_| is_new) {
        action.register_artifacts.push(Artifact { kind: kind.to_owned(), path, ..Artifact::default() });
    }
    action.with_file(FileWrite::replace(path, content))
}
