//! Which mail the server's answers could not be read for, so that one of them keeps no other out and is not fetched for ever.
//!
//! Pure.

use std::collections::BTreeMap;

/// After so many fetches of one mail that failed it counts as unreadable.
const MAX_FETCHES: u32 = 3;

/// How an account's mails are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FetchPace {
    /// Many at once.
    Together,
    /// A fetch of several failed: the one that it failed for is looked for.
    OneByOne,
}

/// The fetches that failed, by account.
#[derive(Debug, Default)]
pub(crate) struct FailedFetches {
    accounts: BTreeMap<String, FailedMail>,
}

/// The mail that could not be fetched last, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FailedMail {
    uid: u32,
    count: u32,
}

impl FailedFetches {
    /// How the mails of an account are fetched.
    pub(crate) fn pace(&self, account: &str) -> FetchPace {
        if self.accounts.contains_key(account) { FetchPace::OneByOne } else { FetchPace::Together }
    }

    /// Whether a mail failed so often that another fetch would do no better.
    pub(crate) fn is_unreadable(&self, account: &str, uid: u32) -> bool {
        self.accounts.get(account).is_some_and(|failed| failed.uid == uid && failed.count >= MAX_FETCHES)
    }

    /// Notes that the answer to a fetch could not be read.
    pub(crate) fn note(&mut self, account: &str, uids: &[u32]) {
        let Some(uid) = uids.first().copied() else { return };
        let is_alone = u32::from(uids.len() == 1);
        let before = self.accounts.get(account).filter(|failed| failed.uid == uid).map_or(0, |failed| failed.count);
        self.accounts.insert(account.to_owned(), FailedMail { uid, count: before + is_alone });
    }

    /// Notes that everything of an account was fetched.
    pub(crate) fn forget(&mut self, account: &str) {
        self.accounts.remove(account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mail_that_fails_is_found_and_given_up_and_the_others_are_not() {
        let mut failed = FailedFetches::default();
        assert_eq!(failed.pace("me"), FetchPace::Together);
        failed.note("me", &[3, 4, 5]);
        assert_eq!(failed.pace("me"), FetchPace::OneByOne);
        assert_eq!(failed.pace("other"), FetchPace::Together);
        for _ in 0..MAX_FETCHES {
            assert!(!failed.is_unreadable("me", 4), "it deserves another fetch");
            failed.note("me", &[4]);
        }
        assert!(failed.is_unreadable("me", 4) && !failed.is_unreadable("me", 5));
        failed.forget("me");
        assert_eq!(failed.pace("me"), FetchPace::Together);
    }

    #[test]
    fn failures_of_different_mails_do_not_add_up() {
        let mut failed = FailedFetches::default();
        (0..10).for_each(|number| failed.note("me", &[number % 2]));
        assert!(!failed.is_unreadable("me", 0) && !failed.is_unreadable("me", 1));
    }
}
