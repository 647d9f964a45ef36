//! A model provider that an extension adds: the events that its code yields become the stream of a model call.

use crate::call_scope::CallScope;
use crate::extension::{ActiveExtension, Invocation};
use crate::limits::{MODEL, MODELS};
use crate::worker::CallFailure;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::provider::{
    ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind,
};
use futures_channel::mpsc::{UnboundedReceiver, unbounded};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::Value;
use std::sync::Arc;
use std::task::Poll;

/// The provider, as the turn loop calls it.
pub(crate) struct ScriptProvider {
    active: ActiveExtension,
    name: String,
}

/// One model call on its way.
struct RunningCall {
    events: UnboundedReceiver<ModelEvent>,
    /// `None` once it has ended.
    call: Option<BoxFuture<'static, Result<(), ProviderError>>>,
    error: Option<ProviderError>,
}

impl ScriptProvider {
    pub(crate) const fn new(active: ActiveExtension, name: String) -> Self {
        Self { active, name }
    }

    fn invocation(&self, kind: &'static str, input: Value) -> (String, Invocation) {
        let time = if kind == "models" { MODELS } else { MODEL };
        (format!("provider {}", self.name), Invocation::new(kind, self.name.clone(), input, time))
    }
}

/// What the turn is told of a call that failed.
fn provider_error(active: &ActiveExtension, failure: &CallFailure) -> ProviderError {
    let kind = match failure.fault {
        Some(FaultKind::Timeout) => ProviderErrorKind::Timeout,
        _ => ProviderErrorKind::BrokenStream,
    };
    ProviderError::new(kind, active.told(failure))
}

/// What the code said itself about why it failed.
fn named_error(answer: Value) -> Result<(), ProviderError> {
    if answer.is_null() {
        return Ok(());
    }
    let message = answer.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    Err(serde_json::from_value(answer).unwrap_or_else(|_| ProviderError::new(ProviderErrorKind::BrokenStream, message)))
}

impl RunningCall {
    /// The next item: events in the order they came, then the error if there was one.
    async fn next(&mut self) -> Option<Result<ModelEvent, ProviderError>> {
        std::future::poll_fn(|context| {
            if let Some(call) = &mut self.call
                && let Poll::Ready(ended) = call.poll_unpin(context)
            {
                self.call = None;
                self.error = ended.err();
            }
            match self.events.poll_next_unpin(context) {
                Poll::Ready(Some(event)) => Poll::Ready(Some(Ok(event))),
                Poll::Pending if self.call.is_some() => Poll::Pending,
                _ => Poll::Ready(self.error.take().map(Err)),
            }
        })
        .await
    }
}

impl Provider for ScriptProvider {
    fn stream(&self, request: ModelRequest, cancel: CancelToken) -> ModelStream {
        let (sender, events) = unbounded();
        let input = serde_json::to_value(request).unwrap_or_default();
        let (place, call) = self.invocation("stream", input);
        let call = Invocation { scope: Arc::new(CallScope::of_model(cancel.child(), sender)), ..call };
        let active = self.active.clone();
        let call: BoxFuture<'static, _> = Box::pin(async move {
            let answer = active.invoke(&place, call).await;
            named_error(answer.map_err(|failure| provider_error(&active, &failure))?)
        });
        let running = RunningCall { events, call: Some(call), error: None };
        Box::pin(stream::unfold(running, |mut running| async move {
            let item = running.next().await?;
            Some((item, running))
        }))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        Box::pin(async move {
            let (place, call) = self.invocation("models", Value::Null);
            let answer = self.active.invoke(&place, call).await;
            let answer = answer.map_err(|failure| provider_error(&self.active, &failure))?;
            serde_json::from_value(answer).map_err(|error| {
                let said = format!("the models of the provider `{}` cannot be read: {error}", self.name);
                ProviderError::new(ProviderErrorKind::InvalidRequest, said)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_keeps_the_kind_that_the_code_named() {
        assert_eq!(named_error(Value::Null), Ok(()));
        let limited = named_error(json!({ "kind": "rate_limited", "message": "slow", "retryAfterMs": 7 })).unwrap_err();
        assert_eq!((limited.kind, limited.retry_after_ms), (ProviderErrorKind::RateLimited, Some(7)));
        let unknown = named_error(json!({ "kind": "grumpy", "message": "no", "retryAfterMs": null })).unwrap_err();
        assert_eq!(unknown, ProviderError::new(ProviderErrorKind::BrokenStream, "no"));
    }
}
