//! Who may read an account, how long a failed one rests, and what people are shown of it.
//!
//! Pure.

use crate::contract::{AccountState, AccountStatus};

/// How long an account belongs to its reader without renewal.
pub(crate) const LEASE_MS: u64 = 15_000;
/// The pause after the first failure; it doubles with each.
const FIRST_PAUSE_MS: u64 = 1_000;
/// The longest pause between two attempts.
const MAX_PAUSE_MS: u64 = 5 * 60_000;
/// A connection that lasted so long was a good one: the next failure is the first again.
const GOOD_CONNECTION_MS: u64 = 60_000;
/// What is said of an account that no process has.
const UNREAD: &str = "no running `dispatch serve` reads it";

/// What is known here of the process that has an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HolderStanding {
    /// It runs beside this process.
    Here,
    /// It ran beside this process and is dead.
    Dead,
    /// Nothing: it may run on another node.
    Unknown,
}

/// An account that is read, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadAccount {
    pub(crate) channel: String,
    pub(crate) account: String,
    pub(crate) owner: Option<String>,
    pub(crate) fence: u64,
    pub(crate) lease_until_ms: u64,
    pub(crate) node: String,
    pub(crate) state: AccountState,
    pub(crate) reason: Option<String>,
    /// How often somebody asked for another attempt.
    pub(crate) retries: u64,
}

impl ReadAccount {
    /// Whether a process may take the account. An owner that is known to be dead has lost it before its time.
    pub(crate) fn is_free(&self, own: &str, holder: HolderStanding, now_ms: u64) -> bool {
        match self.owner.as_deref() {
            None => true,
            Some(owner) => owner == own || holder == HolderStanding::Dead || self.lease_until_ms <= now_ms,
        }
    }
}

/// What people are shown of an account of this channel.
pub(crate) fn shown(
    channel: &str,
    account: &str,
    row: Option<&ReadAccount>,
    holder: HolderStanding,
    now_ms: u64,
) -> AccountStatus {
    let status = |state, reason, node| AccountStatus {
        channel: channel.to_owned(),
        account: account.to_owned(),
        state,
        reason,
        node,
    };
    let held = row.filter(|row| !row.is_free("", holder, now_ms));
    match (held, row) {
        (Some(row), _) => {
            // What is wrong with an account matters on every node; one that works is another node's matter.
            let is_elsewhere = row.state == AccountState::Connected && holder == HolderStanding::Unknown;
            let state = if is_elsewhere { AccountState::Elsewhere } else { row.state };
            status(state, row.reason.clone(), Some(row.node.clone()))
        }
        (None, Some(row)) if row.state == AccountState::Stopped => {
            let reason = row.reason.as_deref().unwrap_or_default();
            status(AccountState::Stopped, Some(format!("{reason} ({UNREAD})")), None)
        }
        (None, _) => status(AccountState::Waiting, Some(UNREAD.to_owned()), None),
    }
}

/// How many failures there were in a row after one more, of a connection that lasted so long.
pub(crate) fn failures_after(failures: u32, connected_ms: Option<u64>) -> u32 {
    match connected_ms {
        Some(lasted) if lasted >= GOOD_CONNECTION_MS => 1,
        _ => failures.saturating_add(1),
    }
}

/// How long to wait after so many failures in a row.
pub(crate) fn pause_ms(failures: u32) -> u64 {
    FIRST_PAUSE_MS.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(MAX_PAUSE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(owner: Option<&str>, state: AccountState) -> ReadAccount {
        ReadAccount {
            channel: "mail".to_owned(),
            account: "me".to_owned(),
            owner: owner.map(str::to_owned),
            fence: 3,
            lease_until_ms: 100,
            node: "box:7".to_owned(),
            state,
            reason: Some("why".to_owned()),
            retries: 0,
        }
    }

    #[test]
    fn an_account_is_taken_from_the_dead_and_the_late_alone() {
        for (owner, standing, now_ms, is_free) in [
            (None, HolderStanding::Unknown, 0, true),
            (Some("us"), HolderStanding::Here, 0, true),
            (Some("them"), HolderStanding::Here, 99, false),
            (Some("them"), HolderStanding::Unknown, 99, false),
            (Some("them"), HolderStanding::Dead, 0, true),
            (Some("them"), HolderStanding::Here, 100, true),
            (Some("them"), HolderStanding::Unknown, 100, true),
        ] {
            let free = row(owner, AccountState::Connected).is_free("us", standing, now_ms);
            assert_eq!(free, is_free, "{owner:?} {standing:?} {now_ms}");
        }
    }

    #[test]
    fn what_is_shown_depends_on_where_it_runs_and_whether_it_works() {
        use AccountState::{Connected, Elsewhere, Stopped, Waiting};
        for (state, standing, now_ms, expected, reason, has_node) in [
            (Connected, HolderStanding::Here, 0, Connected, "why", true),
            (Connected, HolderStanding::Unknown, 0, Elsewhere, "why", true),
            (Stopped, HolderStanding::Unknown, 0, Stopped, "why", true),
            (Waiting, HolderStanding::Unknown, 0, Waiting, "why", true),
            (Connected, HolderStanding::Unknown, 100, Waiting, UNREAD, false),
            (Connected, HolderStanding::Dead, 0, Waiting, UNREAD, false),
            (Stopped, HolderStanding::Dead, 0, Stopped, "why (no running `dispatch serve` reads it)", false),
        ] {
            let row = row(Some("them"), state);
            let shown = shown("mail", "me", Some(&row), standing, now_ms);
            assert_eq!((shown.state, shown.reason.as_deref()), (expected, Some(reason)), "{state:?} {standing:?}");
            assert_eq!(shown.node.is_some(), has_node, "{state:?} {standing:?}");
        }
        assert_eq!(shown("mail", "me", None, HolderStanding::Unknown, 0).state, Waiting);
    }

    #[test]
    fn pauses_grow_to_a_limit_and_begin_anew_after_a_good_connection() {
        for (failures, pause) in [(1, 1_000), (2, 2_000), (5, 16_000), (10, 300_000), (u32::MAX, 300_000)] {
            assert_eq!(pause_ms(failures), pause, "{failures}");
        }
        for (failures, lasted, after) in
            [(0, None, 1), (4, None, 5), (4, Some(59_999), 5), (4, Some(60_000), 1), (u32::MAX, None, u32::MAX)]
        {
            assert_eq!(failures_after(failures, lasted), after, "{failures} {lasted:?}");
        }
    }
}
