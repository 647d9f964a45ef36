//! Hands dispatches to their sessions: in order within a session, side by side across sessions, and as often as needed.

use crate::journal::WaitingDispatch;
use crate::router::Router;
use dispatch_contracts::ports::Level;
use dispatch_contracts::storage::StorageError;
use ext_session_orchestrator::contract::SessionsError;
use futures_util::StreamExt;
use std::collections::BTreeMap;

/// How many sessions are handed something at once.
const MAX_SESSIONS: usize = 16;
/// How long a dispatch waits whose session is full.
const FULL_MS: u64 = 1_000;

/// Whether what follows in the same session can be handed over too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoesOn,
    Waits,
}

impl Router {
    /// Hands over everything that waits.
    pub(crate) async fn hand_over(&self) {
        let waiting = match self.journal.waiting(&self.workspace, self.clock.now_ms()).await {
            Ok(waiting) => waiting,
            Err(error) => return (self.log)(Level::Warn, format!("dispatches cannot be read: {error}")),
        };
        let mut sessions: BTreeMap<String, Vec<WaitingDispatch>> = BTreeMap::new();
        for dispatch in waiting {
            sessions.entry(dispatch.label.clone()).or_default().push(dispatch);
        }
        let handing = sessions.into_values().map(|dispatches| self.hand_over_in_order(dispatches));
        futures_util::stream::iter(handing).for_each_concurrent(MAX_SESSIONS, |session| session).await;
    }

    async fn hand_over_in_order(&self, dispatches: Vec<WaitingDispatch>) {
        for dispatch in dispatches {
            match self.hand_over_one(&dispatch).await {
                Ok(Next::GoesOn) => {}
                Ok(Next::Waits) => return,
                Err(error) => return (self.log)(Level::Warn, format!("dispatch `{}` waits: {error}", dispatch.id)),
            }
        }
    }

    async fn hand_over_one(&self, dispatch: &WaitingDispatch) -> Result<Next, StorageError> {
        let now = self.clock.now_ms();
        let submission = match &dispatch.submission {
            Ok(submission) => submission.clone(),
            Err(why) => {
                (self.log)(Level::Warn, format!("dispatch `{}` cannot be read by this version: {why}", dispatch.id));
                return Ok(Next::Waits);
            }
        };
        let (state, reason, not_before, next) = match self.sessions.submit(submission).await {
            Ok(_) => ("handed", String::new(), now, Next::GoesOn),
            Err(error @ SessionsError::Full { .. }) => ("waiting", error.to_string(), now + FULL_MS, Next::Waits),
            Err(SessionsError::Draining | SessionsError::Storage(_) | SessionsError::Conversation(_)) => {
                return Ok(Next::Waits);
            }
            Err(error @ (SessionsError::Invalid(_) | SessionsError::Unknown { .. })) => {
                ("refused", error.to_string(), now, Next::GoesOn)
            }
        };
        self.journal.set_dispatch(&dispatch.id, state, &reason, not_before).await?;
        Ok(next)
    }
}
