//! Where an attempt to send leaves a reply: what arrived is not sent again, and what may have arrived only if that is
//! harmless.
//!
//! Pure.

use crate::contract::{ReplyState, ReplyView, SendVerdict};
use crate::queue_store::AttemptEnd;
use serde_json::{Map, Value};

/// How often a reply that did not leave is tried.
pub(crate) const MAX_SENDS: u32 = 10;
/// How long to wait before the second attempt; it doubles with each.
const SEND_BACKOFF_MS: u64 = 1_000;
/// The longest wait between two attempts.
const MAX_SEND_BACKOFF_MS: u64 = 10 * 60_000;
/// What a person can do about a reply that may have arrived.
const SETTLE_HINT: &str = "it may have been sent; `dispatch outbox settle` says whether it was";

/// It arrived.
pub(crate) fn arrived(receipt: Map<String, Value>, now_ms: u64) -> AttemptEnd {
    ended(ReplyState::Sent, String::new(), Some(Value::Object(receipt)), now_ms)
}

/// It did not leave, and no attempt would work.
pub(crate) fn refused(reason: String, now_ms: u64) -> AttemptEnd {
    ended(ReplyState::Failed, reason, None, now_ms)
}

/// It did not leave: another attempt in a while, or the end if there were enough.
pub(crate) fn not_sent(view: &ReplyView, reason: &str, now_ms: u64) -> AttemptEnd {
    if view.attempt >= MAX_SENDS {
        return ended(ReplyState::Failed, tried(reason, view.attempt), None, now_ms);
    }
    again(view, reason.to_owned(), now_ms)
}

/// This process was stopped for so long before it sent that somebody else may do so.
pub(crate) fn too_late(now_ms: u64) -> AttemptEnd {
    ended(ReplyState::Pending, "its sender was stopped before it sent anything".to_owned(), None, now_ms)
}

/// It may have arrived; what is known of it decides.
pub(crate) fn may_have_arrived(view: &ReplyView, reason: &str, verdict: SendVerdict, now_ms: u64) -> AttemptEnd {
    match verdict {
        SendVerdict::Sent(receipt) => arrived(receipt, now_ms),
        SendVerdict::NotSent => not_sent(view, &format!("{reason}; the channel says that it did not arrive"), now_ms),
        SendVerdict::Repeatable if view.attempt < MAX_SENDS => {
            again(view, format!("{reason}; it may have been sent, and sending it again is harmless"), now_ms)
        }
        SendVerdict::Repeatable => unknown(&tried(reason, view.attempt), now_ms),
        SendVerdict::Unresolved => unknown(reason, now_ms),
    }
}

fn unknown(reason: &str, now_ms: u64) -> AttemptEnd {
    ended(ReplyState::Unknown, format!("{reason}; {SETTLE_HINT}"), None, now_ms)
}

fn tried(reason: &str, attempts: u32) -> String {
    format!("{reason} (tried {attempts} times)")
}

fn again(view: &ReplyView, reason: String, now_ms: u64) -> AttemptEnd {
    let wait = SEND_BACKOFF_MS.saturating_mul(1 << view.attempt.saturating_sub(1).min(20)).min(MAX_SEND_BACKOFF_MS);
    AttemptEnd { not_before_ms: now_ms + wait, ..ended(ReplyState::Pending, reason, None, now_ms) }
}

fn ended(state: ReplyState, reason: String, receipt: Option<Value>, now_ms: u64) -> AttemptEnd {
    AttemptEnd { state, reason, receipt, not_before_ms: now_ms, now_ms }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::DispatchId;
    use dispatch_contracts::ids::TurnId;

    fn tried_so_often(attempt: u32) -> ReplyView {
        ReplyView {
            id: "t.0".to_owned(),
            turn: TurnId::new("t"),
            part: 0,
            dispatch: DispatchId::new("d"),
            session: "main".to_owned(),
            channel: "mail".to_owned(),
            delivery: Value::Null,
            text: "x".to_owned(),
            state: ReplyState::Sending,
            reason: String::new(),
            attempt,
            receipt: None,
            at_ms: 0,
            changed_at_ms: 0,
        }
    }

    #[test]
    fn attempts_come_later_and_later_and_end() {
        for (attempt, not_before, state) in [
            (1, 1_000, ReplyState::Pending),
            (2, 2_000, ReplyState::Pending),
            (9, 256_000, ReplyState::Pending),
            (MAX_SENDS, 0, ReplyState::Failed),
        ] {
            let end = not_sent(&tried_so_often(attempt), "busy", 0);
            assert_eq!((end.not_before_ms, end.state), (not_before, state), "{attempt}");
        }
    }

    #[test]
    fn what_may_have_arrived_is_sent_again_only_if_that_is_harmless_and_never_called_failed() {
        for (verdict, attempt, state) in [
            (SendVerdict::Sent(Map::new()), 1, ReplyState::Sent),
            (SendVerdict::NotSent, 1, ReplyState::Pending),
            (SendVerdict::NotSent, MAX_SENDS, ReplyState::Failed),
            (SendVerdict::Repeatable, 1, ReplyState::Pending),
            (SendVerdict::Repeatable, MAX_SENDS, ReplyState::Unknown),
            (SendVerdict::Unresolved, 1, ReplyState::Unknown),
        ] {
            let end = may_have_arrived(&tried_so_often(attempt), "timed out", verdict.clone(), 5);
            assert_eq!(end.state, state, "{verdict:?} {attempt}");
        }
    }
}
