//! The provider `rehearsal`: no model, no network; answers by rule so that everything else can be tried.

mod action;
mod reply;
mod report;
mod schema;

use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::host::Host;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::provider::{
    Finish, ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind,
};
use futures_util::future::{Either, select};
use futures_util::stream;
use reply::RehearsedReply;
use std::collections::VecDeque;
use std::sync::Arc;

/// The pause between words when the settings do not say: enough to see the reply stream.
const DEFAULT_WORD_MS: u64 = 8;

/// The provider.
pub(crate) struct RehearsalProvider {
    clock: Arc<dyn Clock>,
    word_ms: u64,
}

impl RehearsalProvider {
    pub(crate) fn new(host: &Host) -> Self {
        let word_ms = host.settings().read("rehearsal_word_ms").unwrap_or(DEFAULT_WORD_MS);
        Self { clock: host.clock(), word_ms }
    }
}

impl Provider for RehearsalProvider {
    fn stream(&self, request: ModelRequest, cancel: CancelToken) -> ModelStream {
        let reply =
            RehearsalStream { events: events(&request), clock: Arc::clone(&self.clock), word_ms: self.word_ms, cancel };
        Box::pin(stream::unfold(reply, |mut reply| async move { reply.next().await.map(|item| (item, reply)) }))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        let only = ModelInfo { id: crate::contract::REHEARSAL.to_owned(), context_tokens: None };
        Box::pin(std::future::ready(Ok(vec![only])))
    }
}

/// A reply that is being said.
struct RehearsalStream {
    events: VecDeque<ModelEvent>,
    clock: Arc<dyn Clock>,
    word_ms: u64,
    cancel: CancelToken,
}

impl RehearsalStream {
    async fn next(&mut self) -> Option<Result<ModelEvent, ProviderError>> {
        let event = self.events.pop_front()?;
        if self.word_ms > 0 && matches!(event, ModelEvent::TextDelta { .. }) {
            let pause = self.clock.sleep_ms(self.word_ms);
            if let Either::Left(_) = select(self.cancel.cancelled(), pause).await {
                return Some(self.cancelled());
            }
        }
        if self.cancel.is_cancelled() {
            return Some(self.cancelled());
        }
        Some(Ok(event))
    }

    fn cancelled(&mut self) -> Result<ModelEvent, ProviderError> {
        self.events.clear();
        Err(ProviderError::new(ProviderErrorKind::Cancelled, "the rehearsal was cancelled"))
    }
}

/// Everything that will be said, word by word.
fn events(request: &ModelRequest) -> VecDeque<ModelEvent> {
    let RehearsedReply { text, calls } = reply::reply(request);
    let earlier = request.messages.iter().flat_map(|message| message.calls()).count();
    let finish = if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    let words = text.split_inclusive(' ').map(|word| ModelEvent::TextDelta { text: word.to_owned() });
    let called = calls.into_iter().enumerate().map(|(at, call)| ModelEvent::ToolCall {
        id: format!("rehearsal-{}", earlier + at + 1),
        name: call.tool,
        arguments: call.arguments.to_string(),
    });
    words.chain(called).chain([ModelEvent::Finished { finish }]).collect()
}

#[cfg(test)]
mod tests;
