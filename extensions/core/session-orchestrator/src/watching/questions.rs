//! Which questions a watcher was told of, so that it hears of each once, whichever process asks.
//!
//! Pure.

use crate::contract::{ApprovalId, ApprovalRequest, SessionNews};
use std::collections::BTreeSet;

/// What one watcher knows.
#[derive(Default)]
pub(super) struct KnownQuestions {
    /// Told and not settled.
    open: BTreeSet<ApprovalId>,
    /// Told as settled: a row that says otherwise is about to change.
    settled: BTreeSet<ApprovalId>,
}

impl KnownQuestions {
    /// What is new in storage.
    pub(super) fn compare(&mut self, stored: Vec<ApprovalRequest>) -> Vec<SessionNews> {
        let ids: BTreeSet<ApprovalId> = stored.iter().map(|request| request.id.clone()).collect();
        let gone: Vec<ApprovalId> = self.open.difference(&ids).cloned().collect();
        let settled = gone.into_iter().map(|id| SessionNews::Settled { id });
        let is_new =
            |request: &ApprovalRequest| !self.open.contains(&request.id) && !self.settled.contains(&request.id);
        let asked = stored.into_iter().filter(is_new).map(|request| SessionNews::Asked { request });
        settled.chain(asked).collect()
    }

    /// Whether the watcher has not heard this; notes it.
    pub(super) fn is_news(&mut self, news: &SessionNews) -> bool {
        match news {
            SessionNews::Asked { request } => {
                !self.settled.contains(&request.id) && self.open.insert(request.id.clone())
            }
            SessionNews::Settled { id } => {
                self.open.remove(id);
                self.settled.insert(id.clone())
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
