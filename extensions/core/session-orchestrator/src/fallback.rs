//! A chain of models as one provider: the next is asked when one cannot even begin to answer.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::provider::{ModelInfo, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use std::collections::VecDeque;
use std::sync::Arc;

/// One model of a provider.
#[derive(Clone)]
pub(crate) struct ModelChoice {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: String,
}

/// Hears which model was passed over, and why.
pub(crate) type PassedOver = Arc<dyn Fn(&str, &ProviderError) + Send + Sync>;

/// Tries models in order.
pub(crate) struct ModelChain {
    pub(crate) choices: Vec<ModelChoice>,
    /// Told when a model is passed over.
    pub(crate) passed_over: PassedOver,
}

/// Whether another model may do better.
const fn may_help(kind: ProviderErrorKind) -> bool {
    !matches!(kind, ProviderErrorKind::Cancelled | ProviderErrorKind::InvalidRequest)
}

struct ModelTrial {
    left: VecDeque<ModelChoice>,
    request: ModelRequest,
    cancel: CancelToken,
    current: Option<(String, ModelStream)>,
    spoken: bool,
    passed_over: PassedOver,
}

impl ModelTrial {
    fn open_next(&mut self) -> bool {
        let Some(choice) = self.left.pop_front() else { return false };
        let request = ModelRequest { model: choice.model.clone(), ..self.request.clone() };
        self.current = Some((choice.model, choice.provider.stream(request, self.cancel.clone())));
        true
    }
}

impl Provider for ModelChain {
    fn stream(&self, request: ModelRequest, cancel: CancelToken) -> ModelStream {
        let trial = ModelTrial {
            left: self.choices.iter().cloned().collect(),
            request,
            cancel,
            current: None,
            spoken: false,
            passed_over: Arc::clone(&self.passed_over),
        };
        let events: BoxStream<'static, _> = stream::unfold(trial, |mut trial| async move {
            loop {
                if trial.current.is_none() && !trial.open_next() {
                    return None;
                }
                let (model, stream) = trial.current.as_mut()?;
                match stream.next().await {
                    Some(Err(error)) if !trial.spoken && may_help(error.kind) && !trial.left.is_empty() => {
                        (trial.passed_over)(model, &error);
                        trial.current = None;
                    }
                    Some(item) => {
                        trial.spoken = true;
                        return Some((item, trial));
                    }
                    None => return None,
                }
            }
        })
        .boxed();
        events
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        let first = self.choices.first();
        match first {
            Some(choice) => choice.provider.models(),
            None => Box::pin(std::future::ready(Ok(Vec::new()))),
        }
    }
}
