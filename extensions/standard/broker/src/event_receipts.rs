//! What was done with an event, put together from the journal, the session queue and the outbox.

use crate::journal::{Journal, JournaledDispatch};
use dispatch_contracts::BoxFuture;
use ext_event_ledger::contract::{DispatchLine, EventReceipt, EventReceipts, HookLine, LedgerError, SendLine};
use ext_session_orchestrator::contract::{DispatchId, Outbox, OutboxError, ReplyFilter, ReplyView, Sessions};
use std::sync::Arc;

/// The receipts of events.
pub(crate) struct RoutedReceipts {
    pub(crate) journal: Arc<Journal>,
    pub(crate) sessions: Arc<dyn Sessions>,
    pub(crate) outbox: Arc<dyn Outbox>,
}

impl RoutedReceipts {
    async fn collect(&self, event: &str) -> Result<EventReceipt, LedgerError> {
        let hooks = self.journal.invocations(event).await?;
        let hooks = hooks.into_iter().map(|it| HookLine {
            hook: it.hook,
            outcome: it.outcome,
            reason: Some(it.reason).filter(|reason| !reason.is_empty()),
            ms: it.ms,
            at_ms: Some(it.at_ms),
        });
        let journaled = self.journal.dispatches(event).await?;
        let ids: Vec<DispatchId> = journaled.iter().map(|dispatch| DispatchId::new(dispatch.id.as_str())).collect();
        let mut dispatches: Vec<DispatchLine> = Vec::new();
        for dispatch in journaled {
            let mut line = self.line(dispatch).await;
            if let Some(first) = &line.merged_into {
                line.turn = dispatches.iter().find(|other| other.id == *first).and_then(|other| other.turn.clone());
            }
            dispatches.push(line);
        }
        let filter = ReplyFilter { dispatches: Some(ids), ..ReplyFilter::default() };
        let replies = self.outbox.list(filter).await.map_err(|error| match error {
            OutboxError::Storage(error) => LedgerError::Storage(error),
            _ => LedgerError::Closed,
        })?;
        let send = |reply: ReplyView| SendLine {
            id: reply.id,
            channel: reply.channel,
            state: reply.state.word().to_owned(),
            attempt: reply.attempt,
            reason: Some(reply.reason).filter(|reason| !reason.is_empty()),
            at_ms: Some(reply.changed_at_ms),
        };
        let sends = replies.into_iter().rev().map(send).collect();
        let is_decided = self.journal.is_routed(event).await?;
        Ok(EventReceipt { is_decided, hooks: hooks.collect(), dispatches, sends })
    }

    /// A dispatch with what the session queue knows of it.
    async fn line(&self, dispatch: JournaledDispatch) -> DispatchLine {
        let mut line = DispatchLine {
            id: dispatch.id,
            hook: dispatch.hook,
            session: dispatch.label,
            persona: dispatch.persona,
            mode: dispatch.mode,
            state: dispatch.state,
            reason: Some(dispatch.reason).filter(|reason| !reason.is_empty()),
            turn: None,
            merged_into: dispatch.merged_into,
            permissions: dispatch.permissions.level.word().to_owned(),
            at_ms: Some(dispatch.at_ms),
        };
        if line.merged_into.is_none()
            && let Ok(view) = self.sessions.dispatch(&DispatchId::new(line.id.as_str())).await
        {
            line.state = view.state.word().to_owned();
            line.reason = Some(view.reason).filter(|reason| !reason.is_empty());
            line.turn = view.turn.map(|turn| turn.to_string());
        }
        line
    }
}

impl EventReceipts for RoutedReceipts {
    fn receipt<'a>(&'a self, event: &'a str) -> BoxFuture<'a, Result<EventReceipt, LedgerError>> {
        Box::pin(self.collect(event))
    }
}
