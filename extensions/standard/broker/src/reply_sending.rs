//! Brings replies from the outbox to the adapters of their channels.

use crate::journal::Journal;
use dispatch_contracts::BoxFuture;
use ext_event_ledger::contract::{
    ChannelAdapter, Channels, DeliveryContext, OutboundMessage, ReconcileOutcome, SendOutcome,
};
use ext_session_orchestrator::contract::{ReplySender, ReplyView, SendAttempt, SendVerdict};
use std::sync::Arc;

/// The channel of commands.
const COMMAND_CHANNEL: &str = "cli";

/// Sends through the channels' adapters.
pub(crate) struct ChannelReplies {
    pub(crate) channels: Arc<dyn Channels>,
    pub(crate) journal: Arc<Journal>,
}

impl ChannelReplies {
    /// The adapter of a channel. Events of a channel that has none were posted by a command, which reads the replies.
    fn adapter(&self, channel: &str) -> Option<Arc<dyn ChannelAdapter>> {
        let adapter = self.channels.find(channel).or_else(|| self.channels.find(COMMAND_CHANNEL));
        adapter.filter(|adapter| adapter.abilities().sends)
    }

    /// The message as the adapter gets it; its recipient is what the dispatch said and nothing else.
    async fn message(&self, reply: &ReplyView) -> Result<OutboundMessage, String> {
        let delivery: DeliveryContext =
            serde_json::from_value(reply.delivery.clone()).map_err(|error| format!("invalid delivery: {error}"))?;
        let origin = self.journal.event_of(reply.dispatch.as_str()).await.map_err(|error| error.to_string())?;
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
            return SendAttempt::NotSent(format!("no adapter sends to the channel `{}`", reply.channel));
        };
        let message = match self.message(&reply).await {
            Ok(message) => message,
            Err(why) => return SendAttempt::NotSent(why),
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

impl ReplySender for ChannelReplies {
    fn takes(&self, channel: &str) -> bool {
        self.adapter(channel).is_some()
    }

    fn send(&self, reply: ReplyView) -> BoxFuture<'_, SendAttempt> {
        Box::pin(self.send_once(reply))
    }

    fn reconcile(&self, reply: ReplyView) -> BoxFuture<'_, SendVerdict> {
        Box::pin(self.find_out(reply))
    }
}
