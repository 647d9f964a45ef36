//! What every way in shares: the services behind it, and the word that it is closing.

use crate::refusal::Refusal;
use crate::settings::ServerSettings;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::host::Host;
use dispatch_contracts::ports::{Clock, Level};
use dispatch_kernel::host::{ExtensionHost, HOST};
use ext_conversation_store::contract::{CONVERSATIONS, Conversations};
use ext_session_orchestrator::contract::{
    APPROVALS, Answer, ApprovalId, Approvals, CancelOutcome, DispatchId, SESSIONS, Sessions,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The services behind the transports, looked up when they are needed.
pub(crate) struct Desk {
    host: Host,
    /// Cancelled when the transports close.
    pub(crate) closing: CancelToken,
}

impl Desk {
    pub(crate) fn new(host: Host) -> Self {
        Self { host, closing: CancelToken::new() }
    }

    pub(crate) fn sessions(&self) -> Result<Arc<dyn Sessions>, Refusal> {
        Ok(self.host.service(&SESSIONS)?)
    }

    pub(crate) fn approvals(&self) -> Result<Arc<dyn Approvals>, Refusal> {
        Ok(self.host.service(&APPROVALS)?)
    }

    pub(crate) fn conversations(&self) -> Result<Arc<dyn Conversations>, Refusal> {
        Ok(self.host.service(&CONVERSATIONS)?)
    }

    /// The whole host; none while the program stops.
    pub(crate) fn extensions(&self) -> Result<ExtensionHost, Refusal> {
        self.host.service(&HOST)?.get().ok_or_else(Refusal::closing)
    }

    pub(crate) fn settings(&self) -> ServerSettings {
        ServerSettings::read(&self.host.settings())
    }

    pub(crate) fn folders(&self) -> dispatch_contracts::folders::Folders {
        self.host.folders()
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.host.clock()
    }

    pub(crate) fn fresh_id(&self) -> String {
        self.host.ids().next_id()
    }

    /// Writes down what a client is not told.
    pub(crate) fn note(&self, refusal: &Refusal) {
        if let Some(cause) = &refusal.cause {
            let fields = Map::from_iter([("cause".to_owned(), json!(cause))]);
            self.host.log(Level::Error, "a request failed", fields);
        }
    }

    pub(crate) fn log(&self, level: Level, message: &str, fields: Map<String, Value>) {
        self.host.log(level, message, fields);
    }

    /// Takes a dispatch back without waiting for it; for clients that went away.
    pub(crate) fn abandon(self: &Arc<Self>, dispatch: DispatchId) {
        let desk = Arc::clone(self);
        // Outside a runtime the program is at its end, and the dispatch is durable.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Ok(sessions) = desk.sessions() {
                let _: Result<CancelOutcome, _> = sessions.cancel(&dispatch).await;
            }
        });
    }
}

/// A person's answer, as clients spell it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AnswerWire {
    answer: AnswerWord,
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnswerWord {
    Once,
    Session,
    Deny,
}

impl AnswerWire {
    pub(crate) fn new(answer: AnswerWord, reason: Option<String>) -> Self {
        Self { answer, reason }
    }

    /// Gives the answer to whoever waits for it.
    pub(crate) async fn give(self, desk: &Desk, id: &ApprovalId) -> Result<(), Refusal> {
        let answer = match self.answer {
            AnswerWord::Once => Answer::Once,
            AnswerWord::Session => Answer::Session,
            AnswerWord::Deny => Answer::Deny { reason: self.reason },
        };
        Ok(desk.approvals()?.answer(id, answer).await?)
    }
}
