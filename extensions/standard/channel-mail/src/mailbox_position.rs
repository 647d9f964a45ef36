//! How far a mailbox was read, and where to go on when its numbers do not count any more.
//!
//! Pure.

use std::fmt;

/// How far back a mailbox whose numbers changed is searched from the newest mail that was read: a mail that was moved
/// into the folder keeps its older date.
const LOOK_BACK_S: i64 = 24 * 60 * 60;

/// How far a mailbox was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MailboxPosition {
    /// UIDs of another validity name other mails.
    pub(crate) validity: u32,
    /// The last UID that was read.
    pub(crate) uid: u32,
    /// When the newest mail arrived that was there before the first reading, in Unix seconds by the server's clock.
    pub(crate) begun_s: i64,
    /// When the newest mail arrived that was read.
    pub(crate) seen_s: i64,
}

/// What a server says of a mailbox when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MailboxState {
    pub(crate) validity: u32,
    /// The highest UID that a mail has; 0 if there is none.
    pub(crate) last_uid: u32,
    /// When the newest mail arrived; 0 if there is none.
    pub(crate) newest_s: i64,
}

/// How to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resumption {
    /// It was never read: what is there already is left alone.
    Begin(MailboxPosition),
    /// Behind the last UID.
    GoOn(MailboxPosition),
    /// The UIDs changed their meaning: every mail since this time is looked at, and known ones are recognised.
    SearchSince {
        /// Unix seconds by the server's clock.
        since_s: i64,
        /// Where to go on afterwards.
        then: MailboxPosition,
    },
}

impl fmt::Display for MailboxPosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}:{}", self.validity, self.uid, self.begun_s, self.seen_s)
    }
}

impl MailboxPosition {
    /// Reads what [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let position = Self {
            validity: parts.next()?.parse().ok()?,
            uid: parts.next()?.parse().ok()?,
            begun_s: parts.next()?.parse().ok()?,
            seen_s: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(position)
    }

    /// The position behind a mail.
    pub(crate) fn after(self, uid: u32, arrived_s: i64) -> Self {
        Self { uid: self.uid.max(uid), seen_s: self.seen_s.max(arrived_s), ..self }
    }
}

/// How to go on with a mailbox.
pub(crate) fn resume(stored: Option<MailboxPosition>, now: MailboxState) -> Resumption {
    match stored {
        None => Resumption::Begin(MailboxPosition {
            validity: now.validity,
            uid: now.last_uid,
            begun_s: now.newest_s,
            seen_s: now.newest_s,
        }),
        Some(position) if position.validity == now.validity => Resumption::GoOn(position),
        Some(position) => Resumption::SearchSince {
            since_s: position.begun_s.max(position.seen_s.saturating_sub(LOOK_BACK_S)),
            then: MailboxPosition { validity: now.validity, uid: 0, ..position },
        },
    }
}

/// The UIDs behind a position, in order. A server answers `N:*` with the last mail even if its UID is lower.
pub(crate) fn unread_uids(found: impl IntoIterator<Item = u32>, position: MailboxPosition) -> Vec<u32> {
    let mut uids: Vec<u32> = found.into_iter().filter(|uid| *uid > position.uid).collect();
    uids.sort_unstable();
    uids.dedup();
    uids
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AT: MailboxPosition = MailboxPosition { validity: 7, uid: 40, begun_s: 100, seen_s: 500_000 };

    #[test]
    fn a_mailbox_begins_now_goes_on_and_is_searched_after_a_change() {
        let now = MailboxState { validity: 7, last_uid: 44, newest_s: 600_000 };
        assert_eq!(
            resume(None, now),
            Resumption::Begin(MailboxPosition { validity: 7, uid: 44, begun_s: 600_000, seen_s: 600_000 })
        );
        assert_eq!(resume(Some(AT), now), Resumption::GoOn(AT));
        let changed = MailboxState { validity: 8, last_uid: 3, newest_s: 600_000 };
        let then = MailboxPosition { validity: 8, uid: 0, ..AT };
        assert_eq!(resume(Some(AT), changed), Resumption::SearchSince { since_s: 413_600, then });
        let young = MailboxPosition { begun_s: 499_990, ..AT };
        let then = MailboxPosition { validity: 8, uid: 0, ..young };
        assert_eq!(
            resume(Some(young), changed),
            Resumption::SearchSince { since_s: 499_990, then },
            "mail from before the first reading stays unanswered"
        );
    }

    #[test]
    fn only_higher_uids_are_unread_and_a_position_never_goes_back() {
        assert_eq!(unread_uids([40], AT), Vec::<u32>::new(), "the last mail answers N:* too");
        assert_eq!(unread_uids([43, 41, 43, 12], AT), [41, 43]);
        assert_eq!(AT.after(41, 400_000), MailboxPosition { uid: 41, ..AT });
        assert_eq!(AT.after(3, 600_000), MailboxPosition { seen_s: 600_000, ..AT });
    }

    #[test]
    fn nonsense_is_no_position() {
        for text in ["", "7", "7:40", "7:40:100:500:1", "x:1:1:1", "7:-1:0:0"] {
            assert_eq!(MailboxPosition::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_written_position_is_read_back(validity: u32, uid: u32, begun_s: i64, seen_s: i64) {
            let position = MailboxPosition { validity, uid, begun_s, seen_s };
            prop_assert_eq!(MailboxPosition::parse(&position.to_string()), Some(position));
        }
    }
}
