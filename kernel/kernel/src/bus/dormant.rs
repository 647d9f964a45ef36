//! Extensions that sleep until a hook needs them, and the events that wait for them to wake.

use super::Bus;
use super::delivery::{DeliveryPlan, DropCounts};
use super::mailbox::{Envelope, MAILBOX_LIMIT};
use super::waits::WaitLog;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::hook::{Chain, ChainFailed, OnFailure};
use dispatch_contracts::ids::ExtensionId;
use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::Shared;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Resolves when an extension is active, or says why it will not be.
pub(crate) type PendingActivation = Shared<BoxFuture<'static, Result<(), String>>>;

/// Activates an extension; called at most once.
pub(crate) type Activate = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// An extension that is not active yet.
pub(super) struct Dormant {
    hooks: BTreeSet<String>,
    activate: Activate,
    backlog: VecDeque<Envelope>,
    lost: u64,
    activation: Option<PendingActivation>,
}

impl Dormant {
    pub(super) fn waits_for(&self, hook: &str) -> bool {
        self.hooks.contains(hook)
    }

    /// Keeps an event until the extension can take it.
    pub(super) fn keep(
        &mut self,
        extension: &ExtensionId,
        envelope: &Envelope,
        dispatch: &mut DeliveryPlan,
        counts: &mut DropCounts<'_>,
    ) {
        if self.activation.is_none() {
            dispatch.wake.push(extension.clone());
        }
        if self.backlog.len() < MAILBOX_LIMIT {
            self.backlog.push_back(envelope.clone());
            return;
        }
        self.lost += 1;
        if self.lost == 1 {
            dispatch.overflow(extension, &envelope.hook);
        }
        dispatch.lost(extension, envelope.clone(), counts);
    }
}

impl Bus {
    /// Lets an extension sleep until one of the hooks is emitted or applied.
    pub(crate) fn set_dormant(&self, extension: &ExtensionId, hooks: &[String], activate: Activate) {
        let dormant = Dormant {
            hooks: hooks.iter().cloned().collect(),
            activate,
            backlog: VecDeque::new(),
            lost: 0,
            activation: None,
        };
        let replaced = self.shared.table().dormant.insert(extension.clone(), dormant);
        drop(replaced);
    }

    /// Wakes an extension in a task of its own, so that a caller who gives up waiting does not stop it.
    pub(crate) fn wake(&self, extension: &ExtensionId) -> Option<PendingActivation> {
        let (tell, told) = oneshot::channel();
        let (activation, activate) = {
            let mut table = self.shared.table();
            let dormant = table.dormant.get_mut(extension)?;
            if let Some(activation) = &dormant.activation {
                return Some(activation.clone());
            }
            let outcome = async { told.await.unwrap_or_else(|_| Err("the program is shutting down".to_owned())) };
            let activation = outcome.boxed().shared();
            dormant.activation = Some(activation.clone());
            (activation, Arc::clone(&dormant.activate))
        };
        let (bus, extension) = (self.clone(), extension.clone());
        self.shared.ports.spawner.spawn(Box::pin(async move {
            let outcome = activate().await;
            bus.settle(&extension);
            let _ = tell.send(outcome);
        }));
        Some(activation)
    }

    /// Hands the kept events to the handlers that the extension has registered.
    fn settle(&self, extension: &ExtensionId) {
        let mut dispatch = DeliveryPlan::default();
        let done = {
            let mut table = self.shared.table();
            let Some(mut dormant) = table.dormant.remove(extension) else { return };
            let table = &mut *table;
            let mut counts = DropCounts { dropped: &mut table.dropped };
            for envelope in std::mem::take(&mut dormant.backlog) {
                let mailboxes = table.events.get(&*envelope.hook).into_iter().flatten();
                for mailbox in mailboxes.filter(|mailbox| &mailbox.subscriber.extension == extension) {
                    dispatch.push(mailbox, envelope.clone(), &mut counts);
                }
                dormant.backlog.push_back(envelope);
            }
            dormant
        };
        self.carry_out(dispatch);
        drop(done);
    }

    /// Waits for every extension that sleeps until this chain is applied, except the caller itself.
    pub(super) async fn wake_for(
        &self,
        chain: Chain,
        caller: Option<&ExtensionId>,
        waits: &WaitLog,
    ) -> Result<(), ChainFailed> {
        let sleeping: Vec<ExtensionId> = {
            let table = self.shared.table();
            let waiting = table.dormant.iter().filter(|(_, dormant)| dormant.waits_for(chain.id));
            waiting.map(|(extension, _)| extension.clone()).filter(|extension| Some(extension) != caller).collect()
        };
        for extension in sleeping {
            let Some(activation) = self.wake(&extension) else { continue };
            let measuring = waits.measure(self.shared.ports.clock.as_ref(), &extension, chain.id);
            let outcome = activation.await;
            drop(measuring);
            if let (Err(cause), OnFailure::Closed) = (outcome, chain.on_failure) {
                return Err(ChainFailed { hook: chain.id.to_owned(), extension: extension.to_string(), cause });
            }
        }
        Ok(())
    }
}
