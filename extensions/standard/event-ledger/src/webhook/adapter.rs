//! The adapter of webhooks: which there are, where their secrets are, and how a reply is posted.

use super::check::{is_allowed_target, problems_of};
use super::payload::ORIGIN_HEADER;
use super::signature::{SignatureScheme, sign};
use super::webhook_settings::{CHANNEL, SecretSource, WebhookSettings};
use crate::contract::{
    AccountState, AccountStatus, ChannelAdapter, ChannelProblem, OutboundAbilities, OutboundMessage, SendOutcome,
};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::host::Host;
use dispatch_contracts::secret::Secret;
use dispatch_http::{ClientKind, Redirects, root_cause};
use dispatch_os::environment;
use dispatch_os::files::read_text_at_most;
use reqwest::{StatusCode, Url};
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The largest file with a secret.
const MAX_SECRET_BYTES: u64 = 16 * 1024;
/// How long a receiver may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);

/// The webhooks.
pub(crate) struct WebhookAdapter {
    pub(crate) host: Host,
    pub(crate) webhooks: BTreeMap<String, WebhookSettings>,
}

/// The secrets of a webhook as they are now: those of the settings, then the one that `dispatch auth add` kept.
pub(super) async fn secrets_of(host: &Host, webhook: &WebhookSettings) -> Vec<Secret> {
    let mut secrets: Vec<Secret> = webhook.secrets.iter().filter_map(read_secret).collect();
    if let Ok(vault) = host.secrets() {
        secrets.extend(vault.get(&format!("channel:{CHANNEL}:{}", webhook.name)).await.ok());
    }
    secrets
}

/// The secrets that stand in the settings or in a variable, which no event may show.
pub(crate) fn literal_secrets(webhooks: &BTreeMap<String, WebhookSettings>) -> Vec<Secret> {
    webhooks.values().flat_map(|webhook| &webhook.secrets).filter_map(read_secret).collect()
}

/// A secret that cannot be read or is empty is none: the request is refused, since anybody can sign with nothing.
fn read_secret(source: &SecretSource) -> Option<Secret> {
    let text = match source {
        SecretSource::Literal(secret) => return Some(secret.clone()).filter(|secret| !secret.expose().is_empty()),
        SecretSource::Variable(name) => environment::variable(name).ok()??,
        SecretSource::File(path) => read_text_at_most(Path::new(path), MAX_SECRET_BYTES).ok()?,
    };
    Some(text.trim()).filter(|text| !text.is_empty()).map(Secret::new)
}

impl ChannelAdapter for WebhookAdapter {
    fn channel(&self) -> &str {
        CHANNEL
    }

    fn abilities(&self) -> OutboundAbilities {
        OutboundAbilities { sends: true, idempotent: true, reconcile: false }
    }

    fn accounts(&self) -> Vec<AccountStatus> {
        let status = |webhook: &WebhookSettings| {
            let open = webhook.scheme == SignatureScheme::None || !webhook.secrets.is_empty();
            AccountStatus {
                channel: CHANNEL.to_owned(),
                account: webhook.name.clone(),
                state: AccountState::Connected,
                reason: (!open).then(|| "no secret in the settings; `dispatch auth add` may have kept one".to_owned()),
                node: None,
            }
        };
        self.webhooks.values().map(status).collect()
    }

    fn problems(&self) -> BoxFuture<'_, Vec<ChannelProblem>> {
        Box::pin(async move {
            let mut problems = Vec::new();
            for webhook in self.webhooks.values() {
                let is_usable = |source: &SecretSource| read_secret(source).is_some();
                let has_secret = !secrets_of(&self.host, webhook).await.is_empty();
                problems.extend(problems_of(webhook, is_usable, has_secret));
            }
            problems
        })
    }

    fn send(&self, message: OutboundMessage) -> BoxFuture<'_, SendOutcome> {
        Box::pin(async move {
            match self.prepared(&message).await {
                Ok(request) => posted(request).await,
                Err(reason) => SendOutcome::NotSent { reason, again: false },
            }
        })
    }
}

impl WebhookAdapter {
    /// The request that posts a message.
    async fn prepared(&self, message: &OutboundMessage) -> Result<reqwest::RequestBuilder, String> {
        let account = message.delivery.account_id.as_deref().unwrap_or_default();
        let webhook = self.webhooks.get(account).ok_or_else(|| format!("there is no webhook `{account}`"))?;
        let address = webhook.reply_url.as_deref();
        let address = address.ok_or_else(|| format!("webhook `{account}` has no `reply_url`"))?;
        let url =
            Url::parse(address).map_err(|error| format!("invalid `reply_url` of webhook `{account}`: {error}"))?;
        if !is_allowed_target(&url) {
            return Err(format!("the `reply_url` of webhook `{account}` must begin with https://"));
        }
        let client = dispatch_http::client(ClientKind::of(&url), Redirects::None);
        let client = client.map_err(|error| format!("{error}: {}", root_cause(&error)))?;
        let body = json!({
            "type": "reply",
            "id": message.id,
            "timestamp": message.at_ms,
            "content": message.content,
            "contentType": message.content_type,
            "peerId": message.delivery.peer_id,
            "threadId": message.delivery.thread_id,
            "replyToId": message.delivery.reply_to_id,
        })
        .to_string();
        let time_s = self.host.clock().now_ms() / 1_000;
        let mut request = client
            .post(url)
            .timeout(SEND_TIMEOUT)
            .header("content-type", "application/json")
            .header("idempotency-key", &message.id)
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", time_s.to_string());
        if let Some(event) = &message.event {
            request = request.header(ORIGIN_HEADER, format!("{event} {}", message.hops));
        }
        let secrets = secrets_of(&self.host, webhook).await;
        if let Some(signature) = secrets.first().and_then(|secret| sign(secret, &message.id, time_s, body.as_bytes())) {
            request = request.header("webhook-signature", signature);
        }
        Ok(request.body(body))
    }
}

async fn posted(request: reqwest::RequestBuilder) -> SendOutcome {
    match request.send().await {
        Ok(answer) if answer.status().is_success() => {
            let receipt = Map::from_iter([("status".to_owned(), json!(answer.status().as_u16()))]);
            SendOutcome::Sent { receipt }
        }
        Ok(answer) => {
            let status = answer.status();
            let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT].contains(&status);
            // A receiver that failed half-way may have taken it.
            if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
                return SendOutcome::Unknown { reason: format!("the receiver answered {status}") };
            }
            let again = busy || status == StatusCode::SERVICE_UNAVAILABLE;
            SendOutcome::NotSent { reason: format!("the receiver answered {status}"), again }
        }
        Err(error) if error.is_connect() => {
            SendOutcome::NotSent { reason: format!("cannot connect: {}", root_cause(&error)), again: true }
        }
        Err(error) => SendOutcome::Unknown { reason: format!("no answer: {}", root_cause(&error)) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_secret_is_none() {
        assert_eq!(read_secret(&SecretSource::Literal(Secret::new(""))), None);
        assert_eq!(read_secret(&SecretSource::Literal(Secret::new("x"))), Some(Secret::new("x")));
    }
}
