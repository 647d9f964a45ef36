//! A provider whose words hold no secrets: neither for whoever watches nor in what is stored of them.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::Clock;
use dispatch_contracts::provider::{ModelEvent, ModelInfo, ModelRequest, ModelStream, Provider, ProviderError};
use dispatch_redact::{Redactor, StreamRedactor};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// How long the model may be silent before a word that waits for its end is shown.
const PAUSE_MS: u64 = 150;

/// Stands in for a provider. Words pass as they come; a secret is found although it comes in pieces, because words
/// that may belong to one wait for the next. Calls pass as they are: a tool needs what the model wrote.
pub(super) struct RedactedProvider<P> {
    pub(super) provider: P,
    pub(super) redactor: Arc<Redactor>,
    pub(super) clock: Arc<dyn Clock>,
}

impl<P: Provider> Provider for RedactedProvider<P> {
    fn stream(&self, request: ModelRequest, cancel: CancelToken) -> ModelStream {
        let words = RedactedWords::new(Arc::clone(&self.redactor));
        let (inner, clock) = (self.provider.stream(request, cancel), Arc::clone(&self.clock));
        let reply = RedactedReply { inner, words, ready: VecDeque::new(), clock };
        futures_util::stream::unfold(reply, |mut reply| async move {
            let item = reply.next().await?;
            Some((item, reply))
        })
        .boxed()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        self.provider.models()
    }
}

/// One reply on its way.
struct RedactedReply {
    inner: ModelStream,
    words: RedactedWords,
    ready: VecDeque<Result<ModelEvent, ProviderError>>,
    clock: Arc<dyn Clock>,
}

impl RedactedReply {
    async fn next(&mut self) -> Option<Result<ModelEvent, ProviderError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            match self.heard().await {
                Some(Some(Ok(event))) => self.ready.extend(self.words.pass(event).into_iter().map(Ok)),
                Some(Some(Err(error))) => self.ready.extend(self.words.rest().into_iter().map(Ok).chain([Err(error)])),
                Some(None) => return self.words.rest().map(Ok),
                None => self.ready.extend(self.words.pause().map(Ok)),
            }
        }
    }

    /// What the model says next; `None` if it is silent while words are held back.
    async fn heard(&mut self) -> Option<Option<Result<ModelEvent, ProviderError>>> {
        if !self.words.may_pause() {
            return Some(self.inner.next().await);
        }
        match select(self.inner.next(), self.clock.sleep_ms(PAUSE_MS)).await {
            Either::Left((item, _)) => Some(item),
            Either::Right(_) => None,
        }
    }
}

/// The words of one reply on their way.
struct RedactedWords {
    redactor: Arc<Redactor>,
    open: Option<OpenWords>,
    /// Whether words came since the last pause.
    moved: bool,
}

/// Words of one kind, of which some may be held back.
struct OpenWords {
    kind: WordKind,
    stream: StreamRedactor<Arc<Redactor>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Text,
    Reasoning,
}

impl WordKind {
    fn event(self, text: String) -> ModelEvent {
        match self {
            Self::Text => ModelEvent::TextDelta { text },
            Self::Reasoning => ModelEvent::ReasoningDelta { text },
        }
    }
}

impl RedactedWords {
    fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, open: None, moved: false }
    }

    fn pass(&mut self, event: ModelEvent) -> Vec<ModelEvent> {
        match event {
            ModelEvent::TextDelta { text } => self.words(WordKind::Text, &text),
            ModelEvent::ReasoningDelta { text } => self.words(WordKind::Reasoning, &text),
            ModelEvent::ReasoningSealed { signature } => self.seal(signature),
            // What it costs is told between words and ends none.
            usage @ ModelEvent::Usage(_) => vec![usage],
            other @ (ModelEvent::ToolCall { .. } | ModelEvent::Finished { .. }) => {
                self.rest().into_iter().chain([other]).collect()
            }
        }
    }

    fn words(&mut self, kind: WordKind, text: &str) -> Vec<ModelEvent> {
        self.moved = true;
        let mut events = Vec::new();
        if self.open.as_ref().is_some_and(|open| open.kind != kind) {
            events.extend(self.rest());
        }
        let begin = || OpenWords { kind, stream: StreamRedactor::by_words(Arc::clone(&self.redactor)) };
        let open = self.open.get_or_insert_with(begin);
        events.extend(said(open.stream.push(text.as_bytes())).map(|text| kind.event(text)));
        events
    }

    fn may_pause(&self) -> bool {
        self.moved && self.open.is_some()
    }

    /// The model is silent for a while: a word that is no part of a secret is shown as it stands.
    fn pause(&mut self) -> Option<ModelEvent> {
        self.moved = false;
        let open = self.open.as_mut()?;
        said(open.stream.pause()).map(|text| open.kind.event(text))
    }

    /// Gives out what was held back.
    fn rest(&mut self) -> Option<ModelEvent> {
        let OpenWords { kind, stream } = self.open.take()?;
        said(stream.finish()).map(|text| kind.event(text))
    }

    /// A seal may repeat the words that it is for. One with a secret in it goes: changed, it would be refused.
    fn seal(&mut self, signature: String) -> Vec<ModelEvent> {
        let is_clean = matches!(self.redactor.redact(&signature), Cow::Borrowed(_));
        let seal = is_clean.then_some(ModelEvent::ReasoningSealed { signature });
        self.rest().into_iter().chain(seal).collect()
    }
}

/// Bytes as text. A release ends at a blank, so no character is cut.
fn said(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_contracts::provider::Finish;

    fn passed(events: Vec<ModelEvent>) -> Vec<ModelEvent> {
        let mut words = RedactedWords::new(Arc::new(Redactor::builtin()));
        let mut out: Vec<ModelEvent> = events.into_iter().flat_map(|event| words.pass(event)).collect();
        out.extend(words.rest());
        out
    }

    fn text(events: &[ModelEvent]) -> String {
        let text = events.iter().filter_map(|event| match event {
            ModelEvent::TextDelta { text } | ModelEvent::ReasoningDelta { text } => Some(text.as_str()),
            _ => None,
        });
        text.collect()
    }

    #[test]
    fn a_secret_in_pieces_goes_and_its_surroundings_stay() {
        let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
        let whole = format!("The key is {secret}, do not share it.");
        for size in [1, 3, 8, 20, 200] {
            let pieces = whole.as_bytes().chunks(size).map(|piece| String::from_utf8(piece.to_vec()).unwrap());
            let said: Vec<ModelEvent> = pieces.map(|text| ModelEvent::TextDelta { text }).collect();
            let finish = ModelEvent::Finished { finish: Finish::Stop };
            let out = passed(said.into_iter().chain([finish.clone()]).collect());
            assert_eq!(text(&out), "The key is [REDACTED], do not share it.", "by {size}");
            assert_eq!(out.last(), Some(&finish));
        }
    }

    #[test]
    fn a_seal_stays_unless_it_repeats_a_secret() {
        let think = |text: &str| ModelEvent::ReasoningDelta { text: text.to_owned() };
        let seal = ModelEvent::ReasoningSealed { signature: "s".to_owned() };
        let out = passed(vec![think("I look"), think(" at it"), seal.clone()]);
        assert_eq!((text(&out).as_str(), out.last()), ("I look at it", Some(&seal)));
        let repeats = ModelEvent::ReasoningSealed { signature: r#"{"text":"password=hunter2hunter2"}"#.to_owned() };
        for (sealed, stays) in [(seal.clone(), 2), (repeats, 1)] {
            let out = passed(vec![think("password=hunter2hunter2"), sealed]);
            assert_eq!((text(&out).as_str(), out.len()), ("password=[REDACTED]", stays));
        }
        assert_eq!(passed(vec![seal.clone()]), [seal]);
    }
}
