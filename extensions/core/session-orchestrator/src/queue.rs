//! Which input a session takes next, decided over what waits.
//!
//! Pure.

use crate::contract::{Delivery, DispatchId, Mode, Submission};
use crate::scope::DispatchScope;
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

/// The field of a delivery that names the message to answer.
const REPLY_TO: &str = "replyToId";

/// How long a lease lasts that nobody renews.
pub(crate) const LEASE_MS: u64 = 15_000;
/// Longer than anything in the queue waits by itself.
pub(crate) const MAX_WAIT_MS: u64 = 60_000;

/// Whether a stored moment has come. One that is farther ahead than anything ever waits was written by a clock
/// that was set back since, and nobody shall wait for that clock to catch up.
pub(crate) const fn is_due(at_ms: u64, now_ms: u64) -> bool {
    at_ms <= now_ms || at_ms > now_ms.saturating_add(MAX_WAIT_MS)
}

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
    /// Where it belongs; `None` if an older version stored it.
    pub(crate) scope: Option<DispatchScope>,
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
        return if is_due(first.not_before_ms, now_ms) {
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
    if closed || is_due(due, now_ms) { NextInput::Start(batch) } else { NextInput::WaitUntil(due) }
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

/// Why an input cannot enter the running turn; `None` if it can.
pub(crate) fn steer_obstacle(
    running: Option<(&Submission, Option<&DispatchScope>)>,
    new: &Submission,
    scope: Option<&DispatchScope>,
) -> Option<String> {
    let Some((old, old_scope)) = running else { return Some("no turn runs".to_owned()) };
    if !new.images.is_empty() {
        return Some("it has images".to_owned());
    }
    let differences = [
        ("persona", old.persona != new.persona),
        ("model", old.model != new.model),
        ("policy", old.policy != new.policy),
        ("rules", old.rules != new.rules),
        ("ask", old.ask != new.ask),
        ("tools", old.tools != new.tools),
        ("history", old.history != new.history),
        ("standing of its sender", has_owners_rights(old) != has_owners_rights(new)),
        ("delivery", delivery_target(&old.delivery) != delivery_target(&new.delivery)),
        ("workdir", old.workdir != new.workdir),
        ("options", old.options != new.options),
        ("secret_patterns", old.secret_patterns != new.secret_patterns),
        ("workspace or extensions", old_scope != scope),
    ];
    let names: Vec<&str> = differences.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| format!("the running turn has another {}", names.join(", ")))
}

/// When a new input may be taken at the earliest.
pub(crate) fn not_before(mode: Mode, now_ms: u64) -> u64 {
    if mode == Mode::Collect { now_ms.saturating_add(QUIET_MS) } else { now_ms }
}

/// What inputs must have in common to share a turn: persona, model, rights, where they belong, where the reply goes, and
/// whether their senders are owners.
pub(crate) fn partition(submission: &Submission, scope: Option<&DispatchScope>) -> String {
    let parts = serde_json::json!([
        submission.persona,
        submission.model,
        submission.policy,
        submission.rules,
        submission.ask,
        delivery_target(&submission.delivery),
        submission.workdir,
        submission.secret_patterns,
        submission.options,
        submission.tools,
        submission.history,
        scope,
        has_owners_rights(submission),
    ]);
    hex(sha256(parts.to_string().as_bytes()).into_iter().take(12))
}

/// Where a reply goes, whichever message it answers: two messages of one chat have the same target.
pub(crate) fn delivery_target(delivery: &Delivery) -> Delivery {
    let mut target = delivery.clone();
    if let Some(fields) = target.as_object_mut() {
        fields.shift_remove(REPLY_TO);
    }
    target
}

/// Whether somebody wrote it who may do everything: whoever works with this program directly, or an owner from outside.
/// Nobody else's words enter a turn of theirs.
fn has_owners_rights(submission: &Submission) -> bool {
    submission.sender.as_ref().is_none_or(|sender| sender.is_owner)
}

/// Whether an interrupt of one sender may supersede a message of another: the owner's everything, anybody else's their
/// own messages.
pub(crate) fn may_supersede(interrupt: &Submission, other: &Submission) -> bool {
    match &interrupt.sender {
        None => true,
        Some(sender) => sender.is_owner || other.sender.as_ref().is_some_and(|of| of.id == sender.id),
    }
}

#[cfg(test)]
mod tests;
