//! The end of a turn: the refusals since the last one, and the candidates of the whole workspace.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dispatch_hook_module::digest::short_key;
use dispatch_hook_module::{Context, EventName, FileWrite, HookAction, Record};

use super::keeping::KeptText;
use super::{appended, journal};
use crate::call_outcomes::{is_refusal, text};
use crate::memory::{
    CANDIDATES_FILE, CANDIDATES_LIMIT_BYTES, Experience, ExperienceKind, FORGOTTEN_FILE, ForgottenCandidates, JOURNAL,
    MemoryCandidate, derive, merge, parse_candidates, write_candidates,
};

/// The most sessions whose names are looked at.
const MAX_SESSIONS_SEEN: usize = 1_000;
/// The most sessions whose candidates are read, the newest. Each file holds what its session knew of
/// those before it, so older ones are in there.
const MAX_SESSIONS_READ: usize = 8;
/// The most refusals that are written down at once.
const MAX_NEW_DENIALS: usize = 100;

pub(super) fn stop(ctx: &Context<'_>) -> HookAction {
    let journal = journal(ctx);
    let denials = journal.as_deref().map(|known| new_denials(ctx, known)).unwrap_or_default();
    let experiences: Vec<Experience> = journal.into_iter().flatten().chain(denials.iter().cloned()).collect();
    let relative = |path: &str| ctx.paths.repo_relative(Path::new(path));
    let own = derive(&experiences, ctx.session.history(), &relative);
    let action = appended(HookAction::none(), &denials);
    let file = ctx.folders.output.join(CANDIDATES_FILE);
    let before = ctx.session.read(&file, CANDIDATES_LIMIT_BYTES);
    let forgotten = forgotten(ctx);
    let all = own.into_iter().chain(earlier(ctx, &file)).filter(|candidate| !forgotten.contains(candidate));
    let candidates = merge(all);
    let content = write_candidates(&candidates);
    let unchanged = match &before {
        Some(bytes) => bytes == content.as_bytes(),
        None => candidates.is_empty(),
    };
    if unchanged { action } else { action.with_file(FileWrite::replace(CANDIDATES_FILE, content)) }
}

/// The module does not see refused calls when they happen: the pipeline ends with the refusal. The log has them.
fn new_denials(ctx: &Context<'_>, known: &[Experience]) -> Vec<Experience> {
    let written: BTreeSet<&str> = known.iter().map(|line| line.id.as_str()).collect();
    let keeping = KeptText::of(ctx);
    let denied = ctx.session.history().iter().filter(|record| is_denied_call(record));
    let lines = denied.map(|record| denial(ctx, record, &keeping));
    lines.filter(|line| !written.contains(line.id.as_str())).take(MAX_NEW_DENIALS).collect()
}

fn is_denied_call(record: &Record) -> bool {
    is_refusal(record) && EventName::known(&record.event) == Some(EventName::PreToolUse)
}

fn denial(ctx: &Context<'_>, record: &Record, keeping: &KeptText) -> Experience {
    let fact = |name: &str| text(&record.data, name).unwrap_or_default();
    let code = text(&record.data, "code").or_else(|| text(&record.data, "decidedBy")).unwrap_or("unknown");
    Experience {
        id: short_key(&[ctx.ids.session_id.as_bytes(), record.id.as_bytes(), b"denial"]),
        ts: record.ts.clone(),
        turn_id: record.turn_id,
        hook_run_id: record.hook_run_id.clone(),
        tool_use_id: text(&record.data, "toolUseId").map(str::to_owned),
        what: ExperienceKind::Denial {
            record: record.id.clone(),
            tool: keeping.keep(fact("tool")),
            code: keeping.keep(code),
            reason: keeping.keep(fact("reason")),
        },
    }
}

/// What this session and the newest others wrote last.
fn earlier(ctx: &Context<'_>, own: &Path) -> Vec<MemoryCandidate> {
    let names = ctx.session.list(&ctx.paths.work_root, MAX_SESSIONS_SEEN);
    let file = |name: &String| ctx.paths.work_root.join(name).join(JOURNAL).join("output").join(CANDIDATES_FILE);
    let others = names.iter().map(file).filter(|path| path != own);
    let mut dated: Vec<(i64, PathBuf)> =
        others.filter_map(|path| Some((ctx.session.modified_ms(&path)?, path))).collect();
    dated.sort_by(|left, right| right.cmp(left));
    let newest = dated.into_iter().take(MAX_SESSIONS_READ).map(|(_, path)| path);
    let read = newest.chain([own.to_path_buf()]).filter_map(|path| ctx.session.read(&path, CANDIDATES_LIMIT_BYTES));
    read.flat_map(|bytes| parse_candidates(&bytes)).collect()
}

fn forgotten(ctx: &Context<'_>) -> ForgottenCandidates {
    let bytes = ctx.session.read(&ctx.paths.work_root.join(FORGOTTEN_FILE), ForgottenCandidates::LIMIT_BYTES);
    bytes.map(|bytes| ForgottenCandidates::parse(&bytes)).unwrap_or_default()
}
