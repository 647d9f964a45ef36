//! Which input a session takes next, decided over what waits.
//!
//! Pure.

use crate::contract::{DispatchId, Mode, Submission};
use dispatch_os::digest::{hex, sha256};

/// How long a batch waits for another input of its kind.
pub(crate) const QUIET_MS: u64 = 1_000;
/// How long a batch waits at most, counted from its first input.
pub(crate) const COLLECT_MS: u64 = 10_000;
/// The most inputs that may wait in one session.
pub(crate) const MAX_WAITING: u64 = 1_000;
/// The most inputs that share a turn.
pub(crate) const MAX_BATCH: usize = 100;
/// How often a turn is begun for an input before it is set aside.
pub(crate) const MAX_ATTEMPTS: u32 = 3;
/// How long to wait before an input is tried again, times the number of tries.
pub(crate) const BACKOFF_MS: u64 = 2_000;

/// An input that waits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WaitingInput {
    pub(crate) id: DispatchId,
    pub(crate) mode: Mode,
    /// Inputs with different keys never share a turn.
    pub(crate) partition: String,
    /// Not before this time; for `collect` the end of its quiet window.
    pub(crate) not_before_ms: u64,
    pub(crate) at_ms: u64,
    pub(crate) attempts: u32,
    pub(crate) submission: Submission,
}

/// What a session does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NextInput {
    /// Begin a turn with these, in this order.
    Start(Vec<WaitingInput>),
    /// Nothing is due before this time.
    WaitUntil(u64),
    /// Nothing waits.
    Rest,
}

/// Decides over everything that waits in one session, in the order it came.
pub(crate) fn next(waiting: &[WaitingInput], now_ms: u64) -> NextInput {
    let Some(first) = waiting.first() else { return NextInput::Rest };
    // An input that is tried again goes alone: what failed may have been the company.
    if first.mode != Mode::Collect || first.attempts > 0 {
        return if first.not_before_ms <= now_ms {
            NextInput::Start(vec![first.clone()])
        } else {
            NextInput::WaitUntil(first.not_before_ms)
        };
    }
    let fits = |other: &&WaitingInput| other.mode == Mode::Collect && other.partition == first.partition;
    let batch: Vec<WaitingInput> = waiting.iter().take_while(fits).take(MAX_BATCH).cloned().collect();
    // What waits behind the batch closes it: nothing can join any more.
    let closed = batch.len() < waiting.len();
    let quiet_at = batch.iter().map(|one| one.not_before_ms).max().unwrap_or_default();
    let due = quiet_at.min(first.at_ms.saturating_add(COLLECT_MS));
    if closed || due <= now_ms { NextInput::Start(batch) } else { NextInput::WaitUntil(due) }
}

/// When a session has something to do next; `None` when nothing waits.
pub(crate) fn ready_at(waiting: &[WaitingInput], now_ms: u64) -> Option<u64> {
    match next(waiting, now_ms) {
        NextInput::Start(_) => Some(now_ms),
        NextInput::WaitUntil(at) => Some(at),
        NextInput::Rest => None,
    }
}

/// The inputs that may enter a turn of this kind while it runs.
pub(crate) fn steers<'a>(waiting: &'a [WaitingInput], partition: &'a str) -> impl Iterator<Item = &'a WaitingInput> {
    waiting
        .iter()
        .filter(move |one| one.mode == Mode::Steer && one.partition == partition && one.submission.images.is_empty())
}

/// When a new input may be taken at the earliest.
pub(crate) fn not_before(mode: Mode, now_ms: u64) -> u64 {
    if mode == Mode::Collect { now_ms.saturating_add(QUIET_MS) } else { now_ms }
}

/// What inputs must have in common to share a turn: persona, model, rights and where the reply goes.
pub(crate) fn partition(submission: &Submission) -> String {
    let parts = serde_json::json!([
        submission.persona,
        submission.model,
        submission.policy,
        submission.rules,
        submission.ask,
        submission.delivery,
        submission.workdir,
        submission.secret_patterns,
    ]);
    hex(sha256(parts.to_string().as_bytes()).into_iter().take(12))
}

#[cfg(test)]
mod tests;
