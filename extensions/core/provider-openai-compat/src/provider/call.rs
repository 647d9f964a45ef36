//! One model call, from the first try to its last event.

use super::Desk;
use crate::attempt::{self, Ask};
use crate::client;
use crate::credentials;
use crate::intake::Intake;
use crate::reducer::Reducer;
use crate::request;
use crate::retry;
use crate::tool_names::ToolNames;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::provider::{ModelEvent, ModelRequest, ProviderError, ProviderErrorKind};
use futures_util::future::{Either, select};
use reqwest::{Method, Response};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

type Item = Result<ModelEvent, ProviderError>;

/// A call under way. Dropping it closes the connection.
pub(super) struct Call {
    desk: Arc<Desk>,
    request: ModelRequest,
    cancel: CancelToken,
    phase: Phase,
    attempt: u32,
    /// Whether the caller has seen an event of this call; from then on nothing may be tried again.
    passed_on: bool,
    asks_for_usage: bool,
    ready: VecDeque<ModelEvent>,
    failed: Option<ProviderError>,
}

enum Phase {
    Begin,
    Reading(Box<Reading>),
    Over,
}

/// An answer that is being read.
struct Reading {
    answer: Response,
    intake: Intake,
    server: String,
}

/// Why waiting ended without a result.
enum Interrupted {
    Cancelled,
    Silent,
}

impl Call {
    pub(super) fn new(desk: Arc<Desk>, request: ModelRequest, cancel: CancelToken) -> Self {
        Self {
            desk,
            request,
            cancel,
            phase: Phase::Begin,
            attempt: 0,
            passed_on: false,
            asks_for_usage: true,
            ready: VecDeque::new(),
            failed: None,
        }
    }

    /// The next item of the stream.
    pub(super) async fn next(&mut self) -> Option<Item> {
        loop {
            if matches!(self.phase, Phase::Over) && self.ready.is_empty() && self.failed.is_none() {
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
                    self.phase = Phase::Over;
                }
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                self.phase = Phase::Over;
                return Some(Err(error));
            }
            self.advance().await;
        }
    }

    async fn advance(&mut self) {
        match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Over => {}
            Phase::Begin => self.begin().await,
            Phase::Reading(reading) => self.read(reading).await,
        }
    }

    async fn begin(&mut self) {
        self.attempt += 1;
        let outcome = self.within_time(self.open()).await;
        match outcome {
            Ok(Ok(reading)) => self.phase = Phase::Reading(Box::new(reading)),
            Ok(Err(error)) => self.give_up_or_try_again(error).await,
            Err(Interrupted::Cancelled) => self.failed = Some(self.cancelled()),
            Err(Interrupted::Silent) => self.failed = Some(self.silent("the server")),
        }
    }

    async fn open(&self) -> Result<Reading, ProviderError> {
        let desk = &self.desk;
        let endpoint = desk.endpoint().await?;
        let server = endpoint.origin();
        let credential = credentials::for_audience(&desk.host, &server).await?;
        let names = ToolNames::new(&self.request.tools);
        let mut body = request::body(&self.request, &endpoint.options, &names);
        if self.request.model.is_empty() {
            body.insert("model".to_owned(), desk.default_model(&endpoint, &credential).await?.into());
        }
        if !self.asks_for_usage {
            body.shift_remove(request::USAGE_OPTION);
        }
        let body = serde_json::to_vec(&body)
            .map_err(|error| ProviderError::new(ProviderErrorKind::InvalidRequest, error.to_string()))?;
        let ask = Ask { method: Method::POST, call: "chat/completions", body };
        let answer = attempt::send(&desk.clients, &endpoint, &credential, ask, desk.host.clock().now_ms()).await?;
        let reducer = Reducer::new(names, credential.secrets.clone());
        Ok(Reading { answer, intake: Intake::new(reducer, credential.secrets), server })
    }

    async fn read(&mut self, mut reading: Box<Reading>) {
        let piece = self.within_time(reading.answer.chunk()).await;
        let (events, error) = match piece {
            Ok(Ok(Some(bytes))) => reading.intake.push(&bytes),
            Ok(Ok(None)) => {
                let (events, error) = reading.intake.finish();
                return self.take(events, error).await;
            }
            Ok(Err(error)) => (Vec::new(), Some(self.broken(&error, &reading.server))),
            Err(Interrupted::Cancelled) => (Vec::new(), Some(self.cancelled())),
            Err(Interrupted::Silent) => (Vec::new(), Some(self.silent(&reading.server))),
        };
        if error.is_none() {
            self.phase = Phase::Reading(reading);
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
            self.phase = Phase::Begin;
            return;
        }
        let dice = u64::from_str_radix(&dispatch_os::ids::hex_id(8), 16).unwrap_or_default();
        let Some(wait_ms) = retry::wait_ms(&error, self.attempt, self.desk.attempts, dice) else {
            self.failed = Some(error);
            return;
        };
        let waited = select(self.cancel.cancelled(), self.desk.host.clock().sleep_ms(wait_ms)).await;
        match waited {
            Either::Left(_) => self.failed = Some(self.cancelled()),
            Either::Right(_) => self.phase = Phase::Begin,
        }
    }

    /// Waits for the server, but not past a cancel and not for ever.
    async fn within_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        let silence = self.desk.host.clock().sleep_ms(self.desk.idle_timeout_ms);
        match select(self.cancel.cancelled(), select(pin!(work), silence)).await {
            Either::Left(_) => Err(Interrupted::Cancelled),
            Either::Right((Either::Left((outcome, _)), _)) => Ok(outcome),
            Either::Right((Either::Right(_), _)) => Err(Interrupted::Silent),
        }
    }

    fn cancelled(&mut self) -> ProviderError {
        self.phase = Phase::Over;
        self.ready.clear();
        self.failed = None;
        ProviderError::new(ProviderErrorKind::Cancelled, "the model call was cancelled")
    }

    fn silent(&self, server: &str) -> ProviderError {
        let message = format!(
            "{server} was silent for {} seconds; extensions.provider-openai-compat.idle_timeout_ms allows it more",
            self.desk.idle_timeout_ms / 1000
        );
        ProviderError::new(ProviderErrorKind::Timeout, message)
    }

    /// Before the first event a broken connection is one more connection problem; later the reply is torn.
    fn broken(&self, error: &reqwest::Error, server: &str) -> ProviderError {
        let kind = if self.passed_on { ProviderErrorKind::BrokenStream } else { ProviderErrorKind::Network };
        let message = format!("the connection to {server} broke off: {}", client::innermost(error));
        ProviderError::new(kind, message)
    }
}

fn is_about_usage(error: &ProviderError) -> bool {
    error.kind == ProviderErrorKind::InvalidRequest && error.message.contains(request::USAGE_OPTION)
}
