//! Who may answer questions over HTTP: clients with the approval token, which no client needs for anything else.

use super::connection::{ClientConnection, ServerShared};
use super::input::HeadInput;
use crate::guard::shown_token;
use crate::refusal::Refusal;
use http::request::Parts;

/// A client that wants to answer.
pub(super) struct AnsweringClient {
    shown: Option<String>,
    /// Where it comes from, for the record.
    pub(super) from: String,
}

impl HeadInput for AnsweringClient {
    async fn read(parts: &mut Parts) -> Result<Self, Refusal> {
        let peer = parts.extensions.get::<ClientConnection>().map(|client| format!(" {}", client.peer.ip()));
        Ok(Self {
            shown: shown_token(&parts.headers).map(ToOwned::to_owned),
            from: format!("http{}", peer.unwrap_or_default()),
        })
    }
}

impl AnsweringClient {
    /// Whether it shows the approval token.
    pub(super) fn may_answer(&self, shared: &ServerShared) -> bool {
        self.shown.as_deref().is_some_and(|token| shared.token.may_answer(token))
    }
}
