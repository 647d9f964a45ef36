//! A tool call that ended: a failure, or the success that came after one.

use dispatch_hook_module::digest::short_key;
use dispatch_hook_module::{Context, HookAction, RecordType, ToolOutcome, tool_outcome};
use serde_json::{Value, json};

use super::attempt::CommandAttempt;
use super::keeping::KeptText;
use super::{appended, entry, journal};
use crate::call_outcomes::changed_paths;
use crate::memory::{CommandSimilarity, Experience, ExperienceKind};
use crate::prose::shorten;

/// A success so many turns after the failure has nothing to do with it.
const MAX_TURNS_BETWEEN: u64 = 3;
/// The most programs whose last run failed that are kept in mind.
const MAX_FAILING: usize = 32;
const MAX_KEY_BYTES: usize = 32;
/// Classes of errors are cut at this length.
const CLASS_CUT_CHARS: usize = 120;
/// Before the id of a failure that another command of the same program followed.
const ANSWERED: &str = "answered:";

pub(super) fn ended(ctx: &Context<'_>) -> HookAction {
    let Some(call) = ctx.call else {
        return HookAction::none();
    };
    let relative = |path: &str| ctx.paths.repo_relative(path.as_ref()).unwrap_or_else(|| path.to_owned());
    let attempt = CommandAttempt::of(call, &relative);
    match tool_outcome(&ctx.event.tool_response, ctx.event.error.as_deref()) {
        ToolOutcome::Failed(class) => failed(ctx, &call.name, &attempt, &class),
        ToolOutcome::Ok => worked(ctx, &attempt),
    }
}

fn failed(ctx: &Context<'_>, tool: &str, attempt: &CommandAttempt, class: &str) -> HookAction {
    let keeping = KeptText::of(ctx);
    // A class of full length may end within a word; without that word no half of a secret is kept.
    let error =
        if class.chars().count() < CLASS_CUT_CHARS { class.to_owned() } else { shorten(class, CLASS_CUT_CHARS - 1) };
    let what = ExperienceKind::Failure {
        tool: tool.to_owned(),
        program: keeping.keep(&attempt.program),
        command: keeping.keep(&attempt.shown),
        error: keeping.keep(&error),
    };
    let line = entry(ctx, "failure", what);
    let key = key_of(&attempt.program);
    let action = appended(HookAction::none(), std::slice::from_ref(&line));
    match failing(ctx) {
        Some(known) if known.len() >= MAX_FAILING && !known.contains_key(&key) => action,
        _ => action.with_state(pointer(&key, line.id.into())),
    }
}

fn worked(ctx: &Context<'_>, attempt: &CommandAttempt) -> HookAction {
    let key = key_of(&attempt.program);
    let Some(pending) = failing(ctx).and_then(|known| known.get(&key)?.as_str()) else {
        return HookAction::none();
    };
    let answered = pending.strip_prefix(ANSWERED);
    let id = answered.unwrap_or(pending);
    let Some(failure) = journal(ctx).into_iter().flatten().rfind(|line| line.id == id) else {
        return HookAction::none().with_state(pointer(&key, Value::Null));
    };
    let ExperienceKind::Failure { program, command: from, .. } = &failure.what else {
        return HookAction::none().with_state(pointer(&key, Value::Null));
    };
    if ctx.ids.turn_id.saturating_sub(failure.turn_id) > MAX_TURNS_BETWEEN {
        return HookAction::none().with_state(pointer(&key, Value::Null));
    }
    let to = KeptText::of(ctx).keep(&attempt.shown);
    let likeness = likeness(ctx, &failure, from, attempt, &to);
    let next = if likeness == CommandSimilarity::Loose { format!("{ANSWERED}{id}").into() } else { Value::Null };
    if likeness == CommandSimilarity::Loose && answered.is_some() {
        return HookAction::none();
    }
    let what = ExperienceKind::Correction { program: program.clone(), from: from.clone(), to, likeness };
    appended(HookAction::none(), &[entry(ctx, "correction", what)]).with_state(pointer(&key, next))
}

fn likeness(
    ctx: &Context<'_>,
    failure: &Experience,
    from: &str,
    attempt: &CommandAttempt,
    to: &str,
) -> CommandSimilarity {
    if from == to {
        return CommandSimilarity::Same;
    }
    match CommandAttempt::of_command(from).likeness(attempt) {
        // The files changed in between: perhaps they were wrong and not the command.
        CommandSimilarity::Close if changed_since(ctx, failure) => CommandSimilarity::Loose,
        likeness => likeness,
    }
}

fn changed_since(ctx: &Context<'_>, failure: &Experience) -> bool {
    let tail = ctx.session.tail();
    let since = tail.iter().rposition(|record| record.hook_run_id == failure.hook_run_id).map_or(0, |index| index + 1);
    let later = tail.iter().skip(since).filter(|record| record.kind == RecordType::ToolCall);
    later
        .into_iter()
        .any(|record| record.data.get("kind") == Some(&json!("write")) && changed_paths(&record.data).count() > 0)
}

fn failing<'a>(ctx: &'a Context<'_>) -> Option<&'a serde_json::Map<String, Value>> {
    ctx.state.get("memory", "failing")?.as_object()
}

fn pointer(key: &str, value: Value) -> Value {
    json!({"memory": {"failing": {key: value}}})
}

fn key_of(program: &str) -> String {
    let plain = program.len() <= MAX_KEY_BYTES
        && program.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+".contains(&byte));
    if plain && !program.is_empty() { program.to_owned() } else { short_key(&[program.as_bytes()]) }
}
