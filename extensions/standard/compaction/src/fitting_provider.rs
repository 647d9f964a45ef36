//! A provider whose requests fit: the beginning of the conversation is summarised before a request is too long, or
//! after a server refused it.

use crate::compaction_store::CompactionStore;
use crate::contract::{Compaction, SummaryAuthor};
use crate::plan::{RequestSize, turns_to_summarise};
use crate::settings::CompactionSettings;
use crate::size::{WindowKnowledge, bytes_of, of_messages, of_request};
use crate::{shorten, summary};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::conversation::Message;
use dispatch_contracts::host::Host;
use dispatch_contracts::ids::SessionId;
use dispatch_contracts::ports::Level;
use dispatch_contracts::provider::{
    ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind,
};
use ext_session_orchestrator::contract::PastTurn;
use futures_util::future::Shared;
use futures_util::{StreamExt, stream};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often a request is made shorter before its refusal is passed on.
const MAX_ATTEMPTS: usize = 5;
/// What a summary may take of the window.
const SUMMARY_PART: u64 = 8;
/// How many models are remembered with what is known of their windows.
const MAX_MODELS: usize = 256;
/// How much smaller a request has to become whose server does not say what fits.
const UNKNOWN_PART: f64 = 0.5;

/// What all turns share.
pub(crate) struct CompactionShared {
    pub(crate) host: Host,
    pub(crate) store: CompactionStore,
    pub(crate) settings: CompactionSettings,
    /// What was learned about models since the program started.
    pub(crate) windows: Mutex<BTreeMap<String, WindowKnowledge>>,
    /// The conversations of turns that run, and summaries that are made behind one.
    pub(crate) running: Mutex<BTreeMap<SessionId, RunningTurn>>,
}

/// What is known of the last turn of a session in this process.
pub(crate) enum RunningTurn {
    /// It runs.
    Open(Arc<FittingConversation>, Arc<dyn Provider>),
    /// It has ended, and a summary is made; this ends with it.
    Summarising(Shared<BoxFuture<'static, ()>>),
}

/// The conversation of one turn, as the model reads it now.
pub(crate) struct FittingConversation {
    pub(crate) shared: Arc<CompactionShared>,
    pub(crate) session: SessionId,
    /// All past turns.
    pub(crate) turns: Vec<PastTurn>,
    pub(crate) view: Mutex<HistoryView>,
    /// How many messages of each request are the history that the turn began with.
    pub(crate) begun_with: usize,
    /// How many turns that history had summarised.
    pub(crate) begun_summarised: usize,
    /// The last request of the turn.
    pub(crate) last: Mutex<Option<LastRequest>>,
}

/// A request that was sent, as far as its size is concerned.
#[derive(Clone, Debug)]
pub(crate) struct LastRequest {
    pub(crate) model: String,
    /// All of it, in estimated tokens.
    pub(crate) size: u64,
    /// What of it is not past turns.
    pub(crate) fixed: u64,
}

/// How much of the past is summarised.
#[derive(Clone, Default)]
pub(crate) struct HistoryView {
    pub(crate) summarised: usize,
    pub(crate) summary: Option<String>,
}

/// Stands in for a provider during one turn.
pub(crate) struct FittingProvider {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) conversation: Arc<FittingConversation>,
}

impl Provider for FittingProvider {
    fn stream(&self, request: ModelRequest, cancel: CancelToken) -> ModelStream {
        let (provider, conversation) = (Arc::clone(&self.provider), Arc::clone(&self.conversation));
        let opened = async move { conversation.open(provider.as_ref(), request, cancel).await };
        stream::once(opened).flatten().boxed()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        self.provider.models()
    }
}

impl FittingConversation {
    /// What the model reads of the past.
    pub(crate) fn history(&self) -> Vec<Message> {
        let view = self.view().clone();
        let summary = view.summary.as_deref().map(summary::as_messages).unwrap_or_default();
        let turns = self.turns.iter().skip(view.summarised).flat_map(shorten::readable);
        summary.into_iter().chain(turns).collect()
    }

    fn view(&self) -> MutexGuard<'_, HistoryView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the request, shorter than it was asked for if it has to be.
    async fn open(&self, provider: &dyn Provider, asked: ModelRequest, cancel: CancelToken) -> ModelStream {
        let mut request = self.with_present_history(asked);
        let mut known = self.window(provider, &request.model).await;
        if let Some(budget) = known.budget(self.shared.settings.at)
            && of_request(&request) > budget
        {
            // Nothing to shorten is no reason not to ask: the estimate may be wrong.
            let _ = self.shorten(provider, &mut request, budget, &cancel).await;
        }
        for _ in 0..MAX_ATTEMPTS {
            // Without a known window nobody asks how large the request was.
            if known.budget(self.shared.settings.at).is_some() {
                self.note(&request);
            }
            let mut answer = provider.stream(request.clone(), cancel.clone());
            let first = answer.next().await;
            let Some(Err(refusal)) = &first else { return begun(first, answer) };
            if refusal.kind != ProviderErrorKind::ContextLength || cancel.is_cancelled() {
                return begun(first, answer);
            }
            let estimate = of_request(&request);
            known = self.learn(&request.model, refusal, estimate);
            let least = (estimate as f64 * 0.9) as u64;
            let budget = known.budget(self.shared.settings.at).unwrap_or((estimate as f64 * UNKNOWN_PART) as u64);
            if !self.shorten(provider, &mut request, budget.min(least), &cancel).await {
                return begun(first, answer);
            }
        }
        provider.stream(request, cancel)
    }

    fn note(&self, request: &ModelRequest) {
        let size = of_request(request);
        let past = of_messages(request.messages.get(..self.past_messages()).unwrap_or_default());
        let last = LastRequest { model: request.model.clone(), size, fixed: size.saturating_sub(past) };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    }

    /// Whether a summary behind the turn may be needed: the window is known, and the last request took half of it.
    pub(crate) fn may_compact_ahead(&self) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(LastRequest { model, size, .. }) = last.as_ref() else { return false };
        let budget = self.shared.windows().get(model).and_then(|known| known.budget(self.shared.settings.at));
        budget.is_some_and(|budget| size.saturating_mul(2) > budget)
    }

    /// After the turn: summarises what the next one would have to, if the window is known and the history with this turn
    /// passes the limit. The turn that has ended is one of those that stay as they are.
    pub(crate) async fn compact_ahead(&self, provider: &dyn Provider, replied: u64) {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(LastRequest { model, size, fixed }) = last else { return };
        let known = self.shared.windows().get(&model).copied();
        let Some(budget) = known.and_then(|known| known.budget(self.shared.settings.at)) else { return };
        if size.saturating_add(replied) > budget {
            let keep = self.shared.settings.keep.saturating_sub(1);
            self.compact(provider, &model, fixed.saturating_add(replied), budget, keep, &CancelToken::new()).await;
        }
    }

    /// How many messages of a request are the past as it is read now.
    fn past_messages(&self) -> usize {
        if self.view().summarised == self.begun_summarised { self.begun_with } else { self.history().len() }
    }

    /// The request with what is left of the past in the place of what the turn began with.
    fn with_present_history(&self, mut request: ModelRequest) -> ModelRequest {
        if self.view().summarised == self.begun_summarised {
            return request;
        }
        let own = request.messages.split_off(self.begun_with.min(request.messages.len()));
        request.messages = self.history();
        request.messages.extend(own);
        request
    }

    /// Makes the request fit the budget, as far as that is possible; says whether it became shorter.
    async fn shorten(
        &self,
        provider: &dyn Provider,
        request: &mut ModelRequest,
        budget: u64,
        cancel: &CancelToken,
    ) -> bool {
        let before = of_request(request);
        let past = self.past_messages().min(request.messages.len());
        let own = request.messages.split_off(past);
        let history = of_messages(&request.messages);
        let fixed = before.saturating_sub(history);
        self.compact(provider, &request.model, fixed, budget, self.shared.settings.keep, cancel).await;
        request.messages = self.history();
        let past = of_messages(&request.messages);
        let mut own = own;
        let others = fixed.saturating_sub(of_messages(&own));
        if past + fixed > budget {
            shorten::fit(&mut own, bytes_of(budget.saturating_sub(past + others)));
        }
        request.messages.extend(own);
        of_request(request) < before
    }

    /// Summarises as many turns as have to be; a failure leaves the history as it was.
    async fn compact(
        &self,
        provider: &dyn Provider,
        model: &str,
        fixed: u64,
        budget: u64,
        keep: usize,
        cancel: &CancelToken,
    ) {
        let view = self.view().clone();
        let left: Vec<Vec<Message>> = self.turns.iter().skip(view.summarised).map(shorten::readable).collect();
        let sizes: Vec<u64> = left.iter().map(|messages| of_messages(messages)).collect();
        let room = (budget / SUMMARY_PART).max(1);
        let size = RequestSize { turns: &sizes, fixed, summary: room };
        let Some(count) = turns_to_summarise(size, budget, keep) else { return };
        let Some(last) = self.turns.get(view.summarised + count - 1) else { return };
        let old: Vec<Message> = left.into_iter().take(count).flatten().collect();
        let (text, by) = self.summarise(provider, model, &view, &old, budget, cancel).await;
        let mut text = text;
        shorten::cut(&mut text, bytes_of(room));
        let compaction = Compaction {
            through: last.turn.clone(),
            turns: view.summarised + count,
            summary: text.clone(),
            by,
            at_ms: self.shared.host.clock().now_ms(),
        };
        if cancel.is_cancelled() {
            return;
        }
        self.keep(compaction).await;
        *self.view() = HistoryView { summarised: view.summarised + count, summary: Some(text) };
    }

    /// A summary by the model, or by rule where it cannot give one.
    async fn summarise(
        &self,
        provider: &dyn Provider,
        model: &str,
        view: &HistoryView,
        old: &[Message],
        budget: u64,
        cancel: &CancelToken,
    ) -> (String, SummaryAuthor) {
        let earlier = view.summary.as_deref();
        for part in [2, 4] {
            let request = summary::request(model, earlier, old, bytes_of(budget / part));
            match said(provider.stream(request, cancel.clone())).await {
                Ok(text) if !text.trim().is_empty() => return (summary::bounded(text), SummaryAuthor::Model),
                Err(error) if error.kind == ProviderErrorKind::ContextLength => {}
                Ok(_) | Err(_) => break,
            }
        }
        (summary::by_rule(earlier, old), SummaryAuthor::Rule)
    }

    /// Stores a compaction in one write. One that could not be stored serves this turn and is made again in the next.
    async fn keep(&self, compaction: Compaction) {
        let told = Map::from_iter([
            ("session".to_owned(), json!(self.session)),
            ("turns".to_owned(), json!(compaction.turns)),
            ("by".to_owned(), json!(compaction.by)),
        ]);
        match self.shared.store.add(&self.session, compaction).await {
            Ok(()) => self.shared.host.log(Level::Info, "the beginning of a conversation was summarised", told),
            Err(error) => {
                let message = format!("the summary of a conversation could not be stored: {error}");
                self.shared.host.log(Level::Warn, &message, told);
            }
        }
    }

    /// What is known of a model's window; its provider is asked once.
    async fn window(&self, provider: &dyn Provider, model: &str) -> WindowKnowledge {
        if let Some(known) = self.shared.windows().get(model) {
            return *known;
        }
        let configured = self.shared.settings.window;
        let window = match configured {
            Some(window) => Some(window),
            None => provider.models().await.ok().and_then(|models| {
                models.into_iter().find(|info| info.id == model).and_then(|info| info.context_tokens)
            }),
        };
        self.shared.remember(model, WindowKnowledge::new(window))
    }

    fn learn(&self, model: &str, refusal: &ProviderError, estimate: u64) -> WindowKnowledge {
        let known = self.shared.windows().get(model).copied().unwrap_or(WindowKnowledge::new(None));
        self.shared.remember(model, known.learn(&refusal.message, estimate))
    }
}

impl CompactionShared {
    fn windows(&self) -> MutexGuard<'_, BTreeMap<String, WindowKnowledge>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, model: &str, known: WindowKnowledge) -> WindowKnowledge {
        let mut windows = self.windows();
        if windows.len() >= MAX_MODELS && !windows.contains_key(model) {
            windows.pop_first();
        }
        windows.insert(model.to_owned(), known);
        known
    }
}

/// An answer whose first item was taken.
fn begun(first: Option<Result<ModelEvent, ProviderError>>, rest: ModelStream) -> ModelStream {
    stream::iter(first).chain(rest).boxed()
}

/// All the text of an answer.
async fn said(mut answer: ModelStream) -> Result<String, ProviderError> {
    let mut text = String::new();
    while let Some(event) = answer.next().await {
        match event? {
            ModelEvent::TextDelta { text: more } => text.push_str(&more),
            ModelEvent::Finished { .. } => break,
            _ => {}
        }
        if text.len() > summary::MAX_SUMMARY_BYTES {
            break;
        }
    }
    Ok(text)
}
