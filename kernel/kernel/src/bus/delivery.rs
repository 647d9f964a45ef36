//! Emitting: into the mailboxes under the lock, out of them in tasks.

use super::Bus;
use super::isolate::{TimeLimit, isolate, isolate_call, yield_once};
use super::mailbox::{Envelope, MAILBOX_LIMIT, Mailbox, NextDelivery, PushOutcome, Recipient};
use super::subscription_table::SubscriptionTable;
use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::hook::{EVENT_HANDLER_TIMEOUT_MS, ErasedValue};
use dispatch_contracts::ids::ExtensionId;
use dispatch_contracts::ports::{Level, LogRecord};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What is left to do once the table is unlocked.
#[derive(Default)]
#[must_use]
pub(super) struct DeliveryPlan {
    start: Vec<Arc<Mailbox>>,
    overflowed: Vec<(ExtensionId, Arc<str>)>,
    refused: Vec<Envelope>,
    pub(super) wake: Vec<ExtensionId>,
}

impl DeliveryPlan {
    pub(super) fn push(&mut self, mailbox: &Arc<Mailbox>, envelope: Envelope, table: &mut DropCounts<'_>) {
        match mailbox.push(envelope) {
            PushOutcome::Queued => {}
            PushOutcome::Start => self.start.push(Arc::clone(mailbox)),
            PushOutcome::FirstLoss(envelope) => {
                self.overflowed.push((mailbox.subscriber.extension.clone(), Arc::clone(&envelope.hook)));
                self.lost(&mailbox.subscriber.extension, envelope, table);
            }
            PushOutcome::FurtherLoss(envelope) => self.lost(&mailbox.subscriber.extension, envelope, table),
            PushOutcome::Refused(envelope) => self.refused.push(envelope),
        }
    }

    /// Notes an event that had no room before its extension was even active.
    pub(super) fn overflow(&mut self, extension: &ExtensionId, hook: &Arc<str>) {
        self.overflowed.push((extension.clone(), Arc::clone(hook)));
    }

    pub(super) fn lost(&mut self, extension: &ExtensionId, envelope: Envelope, table: &mut DropCounts<'_>) {
        *table.dropped.entry(extension.clone()).or_default() += 1;
        self.refused.push(envelope);
    }
}

/// The part of the table that counts losses.
pub(super) struct DropCounts<'a> {
    pub(super) dropped: &'a mut std::collections::BTreeMap<ExtensionId, u64>,
}

impl Bus {
    /// Emits an event whose type was taken off.
    pub fn emit_erased(&self, hook: &str, payload: ErasedValue) {
        let envelope = Envelope { hook: Arc::from(hook), payload };
        let dispatch = enqueue(&mut self.shared.table(), &envelope);
        drop(envelope);
        self.carry_out(dispatch);
    }

    pub(super) fn carry_out(&self, dispatch: DeliveryPlan) {
        let DeliveryPlan { start, overflowed, refused, wake } = dispatch;
        for mailbox in start {
            let bus = self.clone();
            self.shared.ports.spawner.spawn(Box::pin(async move { bus.drain(&mailbox).await }));
        }
        for extension in &wake {
            let _ = self.wake(extension);
        }
        for (extension, hook) in overflowed {
            let message = format!("fell more than {MAILBOX_LIMIT} events behind; the newest were dropped");
            self.report(&extension, &hook, FaultKind::Overflow, &message);
        }
        drop(refused);
    }

    async fn drain(&self, mailbox: &Mailbox) {
        loop {
            match mailbox.next() {
                NextDelivery::Deliver(envelope) => self.deliver(mailbox, envelope).await,
                NextDelivery::Rest { lost } => {
                    self.log_losses(&mailbox.subscriber.extension, lost);
                    return;
                }
            }
            yield_once().await;
        }
    }

    async fn deliver(&self, mailbox: &Mailbox, envelope: Envelope) {
        let Envelope { hook, payload } = envelope;
        let outcome = match &mailbox.recipient {
            Recipient::Event(handler) => {
                let limit = TimeLimit::Ms(EVENT_HANDLER_TIMEOUT_MS);
                isolate(self.shared.ports.clock.as_ref(), limit, || handler(payload)).await
            }
            Recipient::Any(handler) => isolate_call(|| handler(&hook, &payload)),
        };
        if let Err(failure) = outcome {
            self.report(&mailbox.subscriber.extension, &hook, failure.kind, &failure.message);
        }
    }

    fn log_losses(&self, extension: &ExtensionId, lost: u64) {
        if lost > 0 {
            self.shared.ports.log.write(LogRecord {
                level: Level::Warn,
                source: "kernel".to_owned(),
                message: format!("extension `{extension}` has caught up; {lost} events were dropped"),
                fields: Map::from_iter([("dropped".to_owned(), Value::from(lost))]),
            });
        }
    }
}

fn enqueue(table: &mut SubscriptionTable, envelope: &Envelope) -> DeliveryPlan {
    let mut dispatch = DeliveryPlan::default();
    let hook: &str = &envelope.hook;
    let mut counts = DropCounts { dropped: &mut table.dropped };
    for (extension, dormant) in table.dormant.iter_mut().filter(|(_, dormant)| dormant.waits_for(hook)) {
        dormant.keep(extension, envelope, &mut dispatch, &mut counts);
    }
    let present = table.generation;
    let awake = |mailbox: &&Arc<Mailbox>| {
        !table.dormant.get(&mailbox.subscriber.extension).is_some_and(|dormant| dormant.waits_for(hook))
    };
    let mailboxes = table.events.get(hook).into_iter().flatten().filter(awake).chain(&table.any);
    for mailbox in mailboxes.filter(|mailbox| mailbox.subscriber.generation <= present) {
        dispatch.push(mailbox, envelope.clone(), &mut counts);
    }
    dispatch
}
