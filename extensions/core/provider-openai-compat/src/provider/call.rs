//! One model call, from the first try to its last event.

use super::ProviderShared;
use crate::answer_reader::AnswerReader;
use crate::attempt::{self, ServerRequest};
use crate::credentials;
use crate::reducer::ReplyReducer;
use crate::request;
use crate::retry;
use crate::tool_names::ToolNames;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::provider::{ModelEvent, ModelRequest, ProviderError, ProviderErrorKind};
use dispatch_http::root_cause;
use futures_util::future::{Either, select};
use reqwest::{Method, Response};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

type StreamItem = Result<ModelEvent, ProviderError>;

/// A call that has not ended. Dropping it closes the connection.
pub(super) struct ModelCall {
    shared: Arc<ProviderShared>,
    request: ModelRequest,
    cancel: CancelToken,
    phase: CallPhase,
    attempt: u32,
    /// Whether the caller has seen an event of this call; from then on nothing may be tried again.
    passed_on: bool,
    asks_for_usage: bool,
    ready: VecDeque<ModelEvent>,
    failed: Option<ProviderError>,
}

enum CallPhase {
    Begin,
    Reading(Box<OpenAnswer>),
    Over,
}

/// An answer that is being read.
struct OpenAnswer {
    answer: Response,
    reader: AnswerReader,
    server: String,
}

/// Why waiting ended without a result.
enum Interrupted {
    Cancelled,
    Silent,
}

impl ModelCall {
    pub(super) fn new(shared: Arc<ProviderShared>, request: ModelRequest, cancel: CancelToken) -> Self {
        Self {
            shared,
            request,
            cancel,
            phase: CallPhase::Begin,
            attempt: 0,
            passed_on: false,
            asks_for_usage: true,
            ready: VecDeque::new(),
            failed: None,
        }
    }

    /// The next item of the stream.
    pub(super) async fn next(&mut self) -> Option<StreamItem> {
        loop {
            if matches!(self.phase, CallPhase::Over) && self.ready.is_empty() && self.failed.is_none() {
                return None;
            }
            if self.cancel.is_cancelled() {
                return Some(Err(self.cancelled()));
            }
            if let Some(event) = self.ready.pop_front() {
                self.passed_on = true;
                if matches!(event, ModelEvent::Finished { .. }) {
                    self.ready.clear();
                    self.failed = None;
                    self.phase = CallPhase::Over;
                }
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                self.phase = CallPhase::Over;
                return Some(Err(error));
            }
            self.advance().await;
        }
    }

    async fn advance(&mut self) {
        match std::mem::replace(&mut self.phase, CallPhase::Over) {
            CallPhase::Over => {}
            CallPhase::Begin => self.begin().await,
            CallPhase::Reading(reading) => self.read(reading).await,
        }
    }

    async fn begin(&mut self) {
        self.attempt += 1;
        let outcome = self.within_time(self.open()).await;
        match outcome {
            Ok(Ok(reading)) => self.phase = CallPhase::Reading(Box::new(reading)),
            Ok(Err(error)) => self.give_up_or_try_again(error).await,
            Err(Interrupted::Cancelled) => self.failed = Some(self.cancelled()),
            Err(Interrupted::Silent) => self.failed = Some(self.silent("the server")),
        }
    }

    async fn open(&self) -> Result<OpenAnswer, ProviderError> {
        let shared = &self.shared;
        let endpoint = shared.endpoint().await?;
        let server = endpoint.origin();
        let credential = credentials::for_audience(&shared.host, &server).await?;
        let names = ToolNames::new(&self.request.tools);
        let mut body = request::body(&self.request, &endpoint.options, &names);
        if self.request.model.is_empty() {
            body.insert("model".to_owned(), shared.default_model(&endpoint, &credential).await?.into());
        }
        if !self.asks_for_usage {
            body.shift_remove(request::USAGE_OPTION);
        }
        let body = serde_json::to_vec(&body)
            .map_err(|error| ProviderError::new(ProviderErrorKind::InvalidRequest, error.to_string()))?;
        let request = ServerRequest { method: Method::POST, call: "chat/completions", body };
        let answer =
            attempt::send(&shared.clients, &endpoint, &credential, request, shared.host.clock().now_ms()).await?;
        let reducer = ReplyReducer::new(names, credential.secrets.clone());
        Ok(OpenAnswer { answer, reader: AnswerReader::new(reducer, credential.secrets), server })
    }

    async fn read(&mut self, mut reading: Box<OpenAnswer>) {
        let piece = self.within_time(reading.answer.chunk()).await;
        let (events, error) = match piece {
            Ok(Ok(Some(bytes))) => reading.reader.push(&bytes),
            Ok(Ok(None)) => {
                let (events, error) = reading.reader.finish();
                return self.take(events, error).await;
            }
            Ok(Err(error)) => (Vec::new(), Some(self.broken(&error, &reading.server))),
            Err(Interrupted::Cancelled) => (Vec::new(), Some(self.cancelled())),
            Err(Interrupted::Silent) => (Vec::new(), Some(self.silent(&reading.server))),
        };
        if error.is_none() {
            self.phase = CallPhase::Reading(reading);
        }
        self.take(events, error).await;
    }

    async fn take(&mut self, events: Vec<ModelEvent>, error: Option<ProviderError>) {
        self.ready.extend(events);
        if let Some(error) = error {
            self.give_up_or_try_again(error).await;
        }
    }

    async fn give_up_or_try_again(&mut self, error: ProviderError) {
        if self.passed_on || !self.ready.is_empty() {
            self.failed = Some(error);
            return;
        }
        if self.asks_for_usage && is_about_usage(&error) {
            self.asks_for_usage = false;
            self.attempt = self.attempt.saturating_sub(1);
            self.phase = CallPhase::Begin;
            return;
        }
        let random = u64::from_str_radix(&dispatch_os::ids::hex_id(8), 16).unwrap_or_default();
        let Some(wait_ms) = retry::wait_ms(&error, self.attempt, self.shared.attempts, random) else {
            self.failed = Some(error);
            return;
        };
        let waited = select(self.cancel.cancelled(), self.shared.host.clock().sleep_ms(wait_ms)).await;
        match waited {
            Either::Left(_) => self.failed = Some(self.cancelled()),
            Either::Right(_) => self.phase = CallPhase::Begin,
        }
    }

    /// Waits for the server until the call is cancelled or the server was silent for the idle timeout.
    async fn within_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        let silence = self.shared.host.clock().sleep_ms(self.shared.idle_timeout_ms);
        match select(self.cancel.cancelled(), select(pin!(work), silence)).await {
            Either::Left(_) => Err(Interrupted::Cancelled),
            Either::Right((Either::Left((outcome, _)), _)) => Ok(outcome),
            Either::Right((Either::Right(_), _)) => Err(Interrupted::Silent),
        }
    }

    fn cancelled(&mut self) -> ProviderError {
        self.phase = CallPhase::Over;
        self.ready.clear();
        self.failed = None;
        ProviderError::new(ProviderErrorKind::Cancelled, "the model call was cancelled")
    }

    fn silent(&self, server: &str) -> ProviderError {
        let message = format!(
            "{server} was silent for {} s (`extensions.provider-openai-compat.idle_timeout_ms`)",
            self.shared.idle_timeout_ms / 1000
        );
        ProviderError::new(ProviderErrorKind::Timeout, message)
    }

    /// Before the first event a broken connection is a network error that can be retried; later the reply is incomplete.
    fn broken(&self, error: &reqwest::Error, server: &str) -> ProviderError {
        let kind = if self.passed_on { ProviderErrorKind::BrokenStream } else { ProviderErrorKind::Network };
        let message = format!("the connection to {server} broke off: {}", root_cause(error));
        ProviderError::new(kind, message)
    }
}

fn is_about_usage(error: &ProviderError) -> bool {
    error.kind == ProviderErrorKind::InvalidRequest && error.message.contains(request::USAGE_OPTION)
}
