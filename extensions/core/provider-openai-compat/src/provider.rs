//! The provider `openai-compat`: finds its server, sends the call, retries where that helps.

mod call;

use crate::attempt::{self, ServerRequest};
use crate::client::HttpClients;
use crate::credentials::{self, SentCredential};
use crate::discovery;
use crate::endpoint::Endpoint;
use crate::models;
use crate::retry;
use call::ModelCall;
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::host::Host;
use dispatch_contracts::provider::{ModelInfo, ModelRequest, ModelStream, Provider, ProviderError, ProviderErrorKind};
use dispatch_contracts::settings::Settings;
use dispatch_kernel::services::config::tree;
use futures_util::future::{Either, select};
use futures_util::stream;
use reqwest::Method;
use serde_json::Value;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

/// How long a server may be silent when the settings do not say. Large local models need minutes
/// before their first word.
const DEFAULT_IDLE_TIMEOUT_MS: u64 = 300_000;
/// The largest list of models.
const MAX_LIST_BYTES: usize = 16 * 1024 * 1024;
/// How long a list of models may take.
const LIST_TIMEOUT_MS: u64 = 20_000;
/// How long a discovered server is reused before looking again.
const FOUND_FOR_MS: u64 = 60_000;

/// The provider.
pub(crate) struct OpenAiCompatProvider {
    shared: Arc<ProviderShared>,
}

/// What all calls share.
pub(crate) struct ProviderShared {
    host: Host,
    clients: HttpClients,
    model: Value,
    idle_timeout_ms: u64,
    attempts: u32,
    found: Mutex<Option<DiscoveredEndpoint>>,
}

/// A server that was discovered on this machine, and when.
#[derive(Clone)]
struct DiscoveredEndpoint {
    endpoint: Endpoint,
    model: Option<String>,
    at_ms: u64,
}

impl OpenAiCompatProvider {
    /// The provider for these settings; opens nothing yet.
    pub(crate) fn new(host: Host, all: &Settings) -> Self {
        let own = host.settings();
        let shared = ProviderShared {
            clients: HttpClients::default(),
            model: tree(&all.section("model")),
            idle_timeout_ms: own.read("idle_timeout_ms").unwrap_or(DEFAULT_IDLE_TIMEOUT_MS),
            attempts: own.read("attempts").unwrap_or(retry::DEFAULT_ATTEMPTS),
            found: Mutex::default(),
            host,
        };
        Self { shared: Arc::new(shared) }
    }
}

impl Provider for OpenAiCompatProvider {
    fn stream(&self, request: ModelRequest, cancel: CancelToken) -> ModelStream {
        let call = ModelCall::new(Arc::clone(&self.shared), request, cancel);
        Box::pin(stream::unfold(call, |mut call| async move { call.next().await.map(|item| (item, call)) }))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ProviderError>> {
        Box::pin(async move {
            let endpoint = self.shared.endpoint().await?;
            let credential = credentials::for_audience(&self.shared.host, &endpoint.origin()).await?;
            self.shared.models(&endpoint, &credential).await
        })
    }
}

impl ProviderShared {
    /// The server of the settings, else one that runs on this machine.
    async fn endpoint(&self) -> Result<Endpoint, ProviderError> {
        match Endpoint::read(&self.model) {
            Some(configured) => configured,
            None => Ok(self.find().await?.endpoint),
        }
    }

    async fn find(&self) -> Result<DiscoveredEndpoint, ProviderError> {
        let now_ms = self.host.clock().monotonic_ms();
        let known = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(found) = known.filter(|found| now_ms.saturating_sub(found.at_ms) < FOUND_FOR_MS) {
            return Ok(found);
        }
        let Some(server) = discovery::discover().await.into_iter().next() else {
            let message = "no model server is configured and none was found on this machine; set model.base_url and \
                           model.model, or start Ollama, LM Studio, llama.cpp or vLLM";
            return Err(ProviderError::new(ProviderErrorKind::InvalidRequest, message));
        };
        let model = server.models.first().map(|model| model.id.clone());
        let found = DiscoveredEndpoint { endpoint: Endpoint::at(&server.base_url)?, model, at_ms: now_ms };
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found.clone());
        Ok(found)
    }

    /// The model for a request that names none: that of the settings, else the first one that the server lists.
    async fn default_model(&self, endpoint: &Endpoint, credential: &SentCredential) -> Result<String, ProviderError> {
        if let Some(model) = self.model.get("model").and_then(Value::as_str) {
            return Ok(model.to_owned());
        }
        let known = self.found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(model) = known.and_then(|found| found.model) {
            return Ok(model);
        }
        let first = self.models(endpoint, credential).await?.into_iter().next();
        first.map(|model| model.id).ok_or_else(|| {
            let message = format!("{} offers no model; set model.model", endpoint.origin());
            ProviderError::new(ProviderErrorKind::InvalidRequest, message)
        })
    }

    async fn models(&self, endpoint: &Endpoint, credential: &SentCredential) -> Result<Vec<ModelInfo>, ProviderError> {
        let server = endpoint.origin();
        let now_ms = self.host.clock().now_ms();
        let asked = pin!(async {
            let request = ServerRequest { method: Method::GET, call: "models", body: Vec::new() };
            let answer = attempt::send(&self.clients, endpoint, credential, request, now_ms).await?;
            attempt::read_whole(answer, MAX_LIST_BYTES).await
        });
        let timeout = self.host.clock().sleep_ms(LIST_TIMEOUT_MS);
        let whole = match select(asked, timeout).await {
            Either::Left((answer, _)) => answer?,
            Either::Right(_) => {
                return Err(ProviderError::new(
                    ProviderErrorKind::Timeout,
                    format!("{server} did not list its models within {} s", LIST_TIMEOUT_MS / 1_000),
                ));
            }
        };
        let document = serde_json::from_slice(&whole).unwrap_or(Value::Null);
        models::read(&document).ok_or_else(|| {
            let start = String::from_utf8_lossy(whole.get(..attempt::MAX_ERROR_BYTES).unwrap_or(&whole)).into_owned();
            crate::failure::not_a_list(&document, &start, &server, &credential.secrets)
        })
    }
}
