//! Applying a filter: each handler in turn, each under the chain's time limit.

use super::Bus;
use super::isolate::{HandlerFailure, TimeLimit, isolate};
use super::subscription_table::FilterSubscription;
use super::waits::WaitLog;
use dispatch_contracts::hook::{Chain, ChainFailed, ErasedInvariant, ErasedValue, Filter, OnFailure, Payload};
use dispatch_contracts::ids::ExtensionId;
use std::sync::Arc;

impl Bus {
    /// Runs a value through a filter chain. A handler that fails is skipped, and the value goes on as
    /// it was, unless the chain fails closed. Whom the chain waited for is added to `waits`.
    pub async fn apply<T: Payload>(&self, filter: &Filter<T>, value: T, waits: &WaitLog) -> Result<T, ChainFailed> {
        let changed =
            self.apply_erased(filter.chain(), &filter.erased_invariant(), ErasedValue::new(value), waits).await?;
        changed.typed::<T>().map(Arc::unwrap_or_clone).map_err(|error| ChainFailed {
            hook: filter.id().to_owned(),
            extension: "kernel".to_owned(),
            cause: error.to_string(),
        })
    }

    /// Runs a value whose type was taken off through a filter chain.
    pub async fn apply_erased(
        &self,
        chain: Chain,
        invariant: &ErasedInvariant,
        value: ErasedValue,
        waits: &WaitLog,
    ) -> Result<ErasedValue, ChainFailed> {
        self.apply_for(None, chain, invariant, value, waits).await
    }

    /// As [`Bus::apply_erased`], for an extension that must not wait for its own activation.
    pub(crate) async fn apply_for(
        &self,
        caller: Option<&ExtensionId>,
        chain: Chain,
        invariant: &ErasedInvariant,
        value: ErasedValue,
        waits: &WaitLog,
    ) -> Result<ErasedValue, ChainFailed> {
        self.refuse_if_shut(chain)?;
        self.wake_for(chain, caller, waits).await?;
        let links = self.links(chain.id);
        let mut value = value;
        for link in links.iter().filter(|link| !link.is_closed()) {
            match self.pass(link, chain, &value, waits).await.and_then(|changed| kept(invariant, &value, changed)) {
                Ok(changed) => value = changed,
                Err(failure) => self.skip_or_refuse(link, chain, failure)?,
            }
        }
        Ok(value)
    }

    fn links(&self, hook: &str) -> Vec<Arc<FilterSubscription>> {
        let table = self.shared.table();
        table.links(hook, self.view.unwrap_or(table.generation))
    }

    fn refuse_if_shut(&self, chain: Chain) -> Result<(), ChainFailed> {
        let table = self.shared.table();
        let first = table.shut.get(chain.id).and_then(|guards| guards.first_key_value());
        match (first, chain.on_failure) {
            (Some((extension, cause)), OnFailure::Closed) => {
                Err(ChainFailed { hook: chain.id.to_owned(), extension: extension.to_string(), cause: cause.clone() })
            }
            _ => Ok(()),
        }
    }

    async fn pass(
        &self,
        link: &FilterSubscription,
        chain: Chain,
        value: &ErasedValue,
        waits: &WaitLog,
    ) -> Result<ErasedValue, HandlerFailure> {
        let clock = self.shared.ports.clock.as_ref();
        let _measuring = waits.measure(clock, &link.subscriber.extension, chain.id);
        let limit = TimeLimit::Ms(chain.timeout_ms);
        let changed = isolate(clock, limit, || (link.handler)(value.clone())).await?;
        if changed.same_type(value) {
            Ok(changed)
        } else {
            Err(HandlerFailure::error("answered with a value of another type"))
        }
    }

    fn skip_or_refuse(
        &self,
        link: &FilterSubscription,
        chain: Chain,
        failure: HandlerFailure,
    ) -> Result<(), ChainFailed> {
        let extension = &link.subscriber.extension;
        // What a replaced version does wrong in an old turn is not counted against the new one.
        if !link.is_retired() {
            self.report(extension, chain.id, failure.kind, &failure.message);
        }
        match chain.on_failure {
            OnFailure::Open => Ok(()),
            OnFailure::Closed => {
                Err(ChainFailed { hook: chain.id.to_owned(), extension: extension.to_string(), cause: failure.message })
            }
        }
    }
}

/// The value after a handler, if the handler left alone what the filter's owner says it must.
fn kept(invariant: &ErasedInvariant, before: &ErasedValue, after: ErasedValue) -> Result<ErasedValue, HandlerFailure> {
    match invariant(before, &after) {
        Ok(()) => Ok(after),
        Err(broken) => Err(HandlerFailure::error(&broken.0)),
    }
}
