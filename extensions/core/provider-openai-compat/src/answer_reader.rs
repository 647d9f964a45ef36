//! Takes the bytes of a successful answer and gives model events, whether the server streamed or not.
//!
//! Pure.

use crate::failure;
use crate::reducer::ReplyReducer;
use crate::sse::{MAX_EVENT_BYTES, SseDecoder};
use dispatch_contracts::provider::{ModelEvent, ProviderError, ProviderErrorKind};
use serde_json::Value;

/// The largest answer that is one document instead of a stream.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 32 * 1024 * 1024;

/// How much of a page is shown to find out what it is.
const SHOWN_BYTES: usize = 4096;

/// The answer so far.
#[derive(Debug)]
pub(crate) struct AnswerReader {
    form: AnswerForm,
    reducer: ReplyReducer,
    secrets: Vec<String>,
}

/// What the first bytes say. The declared content type is ignored: servers get it wrong both ways.
#[derive(Debug)]
enum AnswerForm {
    Unknown(Vec<u8>),
    Events(SseDecoder),
    Document(Vec<u8>),
}

impl AnswerReader {
    /// A reader of an answer that has not begun.
    pub(crate) fn new(reducer: ReplyReducer, secrets: Vec<String>) -> Self {
        Self { form: AnswerForm::Unknown(Vec::new()), reducer, secrets }
    }

    /// Takes the next bytes. An error comes behind the events that stood before it.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> (Vec<ModelEvent>, Option<ProviderError>) {
        if let AnswerForm::Unknown(start) = &mut self.form {
            start.extend_from_slice(bytes);
            let Some(first) = first_letter(start) else { return (Vec::new(), None) };
            let start = std::mem::take(start);
            if matches!(first, b'{' | b'[' | b'<') {
                self.form = AnswerForm::Document(Vec::new());
            } else {
                self.form = AnswerForm::Events(SseDecoder::default());
            }
            return self.push_known(&start);
        }
        self.push_known(bytes)
    }

    /// The answer has ended.
    pub(crate) fn finish(&mut self) -> (Vec<ModelEvent>, Option<ProviderError>) {
        let outcome = match &mut self.form {
            AnswerForm::Unknown(_) => self.reducer.end(),
            AnswerForm::Events(decoder) => match decoder.finish() {
                Ok(last) => return self.finish_events(last.as_ref().map(|event| (&*event.name, &*event.data))),
                Err(_) => Err(too_long()),
            },
            AnswerForm::Document(bytes) => {
                let bytes = std::mem::take(bytes);
                self.document(&bytes)
            }
        };
        split(outcome)
    }

    fn push_known(&mut self, bytes: &[u8]) -> (Vec<ModelEvent>, Option<ProviderError>) {
        match &mut self.form {
            AnswerForm::Unknown(_) => (Vec::new(), None),
            AnswerForm::Document(document) => {
                if document.len() + bytes.len() > MAX_DOCUMENT_BYTES {
                    return (Vec::new(), Some(too_long()));
                }
                document.extend_from_slice(bytes);
                (Vec::new(), None)
            }
            AnswerForm::Events(decoder) => {
                let Ok(found) = decoder.push(bytes) else { return (Vec::new(), Some(too_long())) };
                let mut events = Vec::new();
                for event in found {
                    match self.reducer.push(&event.name, &event.data) {
                        Ok(more) => events.extend(more),
                        Err(error) => return (events, Some(error)),
                    }
                }
                (events, None)
            }
        }
    }

    fn finish_events(&mut self, last: Option<(&str, &str)>) -> (Vec<ModelEvent>, Option<ProviderError>) {
        let mut events = Vec::new();
        if let Some((name, data)) = last {
            match self.reducer.push(name, data) {
                Ok(more) => events.extend(more),
                // The end of the stream tore the last event apart: that is a broken stream, not bad JSON.
                Err(error) if error.kind == ProviderErrorKind::BrokenStream => {}
                Err(error) => return (events, Some(error)),
            }
        }
        let (more, error) = split(self.reducer.end());
        events.extend(more);
        (events, error)
    }

    /// A server that ignores `stream` sends the whole reply as one document; others an error or a page.
    fn document(&mut self, bytes: &[u8]) -> Result<Vec<ModelEvent>, ProviderError> {
        let Ok(document) = serde_json::from_slice::<Value>(bytes) else {
            let start = String::from_utf8_lossy(bytes.get(..SHOWN_BYTES).unwrap_or(bytes));
            return Err(failure::not_a_reply(&start, &self.secrets));
        };
        if document.get("choices").is_none() {
            return Err(failure::in_stream(&document, &self.secrets));
        }
        let mut events = self.reducer.chunk(&document)?;
        events.extend(self.reducer.push("", "[DONE]")?);
        Ok(events)
    }
}

fn split(outcome: Result<Vec<ModelEvent>, ProviderError>) -> (Vec<ModelEvent>, Option<ProviderError>) {
    match outcome {
        Ok(events) => (events, None),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn first_letter(start: &[u8]) -> Option<u8> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    if start.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(start) {
        return None;
    }
    let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    text.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

fn too_long() -> ProviderError {
    let message = format!("the server sent more than {} MiB in one event", MAX_EVENT_BYTES / (1024 * 1024));
    ProviderError::new(ProviderErrorKind::BrokenStream, message)
}

#[cfg(test)]
mod tests;
