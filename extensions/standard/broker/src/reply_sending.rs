//! Brings replies from the outbox to the adapters of their channels.

use crate::journal::Journal;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::storage::StorageError;
use ext_event_ledger::contract::{
    ChannelAdapter, Channels, DeliveryContext, OutboundMessage, ReconcileOutcome, SendOutcome,
};
use ext_session_orchestrator::contract::{ReplySender, ReplyView, SendAttempt, SendVerdict};
use std::sync::Arc;

/// What a person can do about a reply to a channel that nobody sends to.
const NO_ADAPTER_HINT: &str =
    "`dispatch channel list` lists the channels; `dispatch outbox settle ID --as not-sent` tries it again";

/// Sends through the channels' adapters.
pub(crate) struct ChannelReplies {
    pub(crate) channels: Arc<dyn Channels>,
    pub(crate) journal: Arc<Journal>,
}

impl ChannelReplies {
    /// The adapter that sends to a channel.
    fn adapter(&self, channel: &str) -> Option<Arc<dyn ChannelAdapter>> {
        self.channels.find(channel).filter(|adapter| adapter.abilities().sends)
    }

    /// The message as the adapter gets it; its recipient is what the dispatch said and nothing else.
    async fn message(&self, reply: &ReplyView) -> Result<OutboundMessage, MessageError> {
        let delivery: DeliveryContext = serde_json::from_value(reply.delivery.clone())
            .map_err(|error| MessageError::Delivery(format!("invalid delivery: {error}")))?;
        let origin = self.journal.event_of(reply.dispatch.as_str()).await.map_err(MessageError::Storage)?;
        let (event, hops) = origin.map_or((None, 0), |(event, hops)| (Some(event), hops));
        Ok(OutboundMessage {
            id: reply.id.clone(),
            delivery,
            content: reply.text.clone(),
            content_type: "text".to_owned(),
            event,
            hops: hops + 1,
            at_ms: reply.at_ms,
        })
    }

    async fn send_once(&self, reply: ReplyView) -> SendAttempt {
        let Some(adapter) = self.adapter(&reply.channel) else {
            let reason = format!("no adapter sends to the channel `{}`; {NO_ADAPTER_HINT}", reply.channel);
            return SendAttempt::Refused(reason);
        };
        let message = match self.message(&reply).await {
            Ok(message) => message,
            Err(MessageError::Delivery(why)) => return SendAttempt::Refused(why),
            Err(MessageError::Storage(why)) => return SendAttempt::NotSent(why.to_string()),
        };
        match adapter.send(message).await {
            SendOutcome::Sent { receipt } => SendAttempt::Sent(receipt),
            SendOutcome::NotSent { reason, again: true } => SendAttempt::NotSent(reason),
            SendOutcome::NotSent { reason, again: false } => SendAttempt::Refused(reason),
            SendOutcome::Unknown { reason } => SendAttempt::Unknown(reason),
        }
    }

    async fn find_out(&self, reply: ReplyView) -> SendVerdict {
        let Some(adapter) = self.adapter(&reply.channel) else { return SendVerdict::Unresolved };
        let abilities = adapter.abilities();
        if abilities.reconcile
            && let Ok(message) = self.message(&reply).await
        {
            match adapter.reconcile(message).await {
                ReconcileOutcome::Sent { receipt } => return SendVerdict::Sent(receipt),
                ReconcileOutcome::NotSent => return SendVerdict::NotSent,
                ReconcileOutcome::Unresolved => {}
            }
        }
        if abilities.idempotent { SendVerdict::Repeatable } else { SendVerdict::Unresolved }
    }
}

/// Why a reply does not become a message.
enum MessageError {
    /// It goes nowhere.
    Delivery(String),
    Storage(StorageError),
}

impl ReplySender for ChannelReplies {
    /// All of them: a reply to a channel that nobody sends to fails and says so, instead of waiting for good.
    fn takes(&self, _channel: &str) -> bool {
        true
    }

    fn send(&self, reply: ReplyView) -> BoxFuture<'_, SendAttempt> {
        Box::pin(self.send_once(reply))
    }

    fn reconcile(&self, reply: ReplyView) -> BoxFuture<'_, SendVerdict> {
        Box::pin(self.find_out(reply))
    }
}
