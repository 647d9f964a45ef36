//! `POST /v1/hooks/{name}`: checks the signature on the bytes as they arrived, reads them, stores, then acknowledges.

use super::adapter::{WebhookAdapter, secrets_of};
use super::payload::{ReadEvent, read_events, slack_challenge};
use super::reply;
use super::signature::{SignatureCheck, SignatureScheme};
use super::webhook_settings::{CHANNEL, WebhookSettings};
use crate::channel_counts::RefusedRequests;
use crate::contract::{EventLedger, LedgerError, NewEvent};
use dispatch_contracts::contribution::{RawRequest, RawResponse, RawRoute, RouteAccess};
use dispatch_contracts::ports::{Clock, Level};
use dispatch_os::digest::{hex, sha256_of_parts};
use serde_json::{Map, json};
use std::sync::Arc;

/// The largest request.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// How many bytes of a hash name an event that its sender did not name.
const HASH_BYTES: usize = 16;

/// The route of all webhooks.
pub(crate) fn webhook_route(
    adapter: Arc<WebhookAdapter>,
    ledger: Arc<dyn EventLedger>,
    refused: Arc<RefusedRequests>,
) -> RawRoute {
    let clock = adapter.host.clock();
    let endpoint = Arc::new(WebhookEndpoint { adapter, ledger, refused, clock });
    RawRoute {
        method: "POST".into(),
        path: "/v1/hooks/{name}".into(),
        summary: "Takes an event from a program that signs its requests.".into(),
        access: RouteAccess::Own,
        max_body_bytes: MAX_BODY_BYTES,
        respond: Arc::new(move |request| {
            let endpoint = Arc::clone(&endpoint);
            Box::pin(async move { Ok(endpoint.answer(request).await) })
        }),
    }
}

struct WebhookEndpoint {
    adapter: Arc<WebhookAdapter>,
    ledger: Arc<dyn EventLedger>,
    refused: Arc<RefusedRequests>,
    clock: Arc<dyn Clock>,
}

impl WebhookEndpoint {
    async fn answer(&self, request: RawRequest) -> RawResponse {
        let name = request.path.get("name").cloned().unwrap_or_default();
        let Some(webhook) = self.adapter.webhooks.get(&name) else { return reply::unknown(&name) };
        let secrets = secrets_of(&self.adapter.host, webhook).await;
        let check = SignatureCheck {
            scheme: webhook.scheme,
            secrets: &secrets,
            header: webhook.header.as_deref(),
            now_s: self.clock.now_ms() / 1_000,
            tolerance_s: webhook.tolerance_s,
        };
        if let Err(error) = check.verify(&request) {
            let fields =
                Map::from_iter([("webhook".to_owned(), json!(name)), ("cause".to_owned(), json!(error.to_string()))]);
            self.adapter.host.log(Level::Info, "a webhook's request was refused", fields);
            self.refused.add(&name);
            return reply::unsigned(&error);
        }
        if let (SignatureScheme::Slack, Some(text)) = (webhook.scheme, slack_challenge(&request)) {
            return reply::challenge(&text);
        }
        let read = match read_events(&request, webhook) {
            Ok(read) => read,
            Err(error) => return reply::unreadable(&error),
        };
        match self.store(webhook, &request.body, read).await {
            Ok(answer) => answer,
            Err(error) => {
                if let LedgerError::Storage(cause) = &error {
                    let fields = Map::from_iter([("cause".to_owned(), json!(cause.to_string()))]);
                    self.adapter.host.log(Level::Warn, "a webhook's event could not be stored", fields);
                }
                reply::not_stored(&error)
            }
        }
    }

    async fn store(
        &self,
        webhook: &WebhookSettings,
        body: &[u8],
        read: Vec<ReadEvent>,
    ) -> Result<RawResponse, LedgerError> {
        let mut events: Vec<NewEvent> = Vec::with_capacity(read.len());
        for ReadEvent { mut event, is_named } in read {
            if !is_named {
                event.external_id = Some(self.name_by_bytes(webhook, body).await?);
            }
            events.push(event);
        }
        Ok(reply::accepted(&self.ledger.append_all(events).await?))
    }

    /// The same bytes within the time window are the same event: a sender that got no answer tries again.
    async fn name_by_bytes(&self, webhook: &WebhookSettings, body: &[u8]) -> Result<String, LedgerError> {
        let digest = sha256_of_parts(&[webhook.name.as_bytes(), body]);
        let hash = format!("sha256-{}", hex(digest.into_iter().take(HASH_BYTES)));
        let (now_ms, window_ms) = (self.clock.now_ms(), webhook.tolerance_s.max(1) * 1_000);
        let window = now_ms / window_ms;
        let before = format!("{hash}-{}", window.saturating_sub(1));
        let known = self.ledger.get(&format!("{CHANNEL}:{before}")).await?;
        let is_recent = known.is_some_and(|event| now_ms.saturating_sub(event.received_at) < window_ms);
        Ok(if is_recent { before } else { format!("{hash}-{window}") })
    }
}
