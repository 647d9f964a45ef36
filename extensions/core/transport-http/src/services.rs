//! What all transports share: the services behind them, and the signal that the program closes.

use crate::approval_answer::ApprovalAnswerWire;
use crate::refusal::Refusal;
use crate::settings::ServerSettings;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::host::Host;
use dispatch_contracts::ports::{Clock, Level};
use dispatch_kernel::host::{ExtensionHost, HOST};
use dispatch_os::environment::user_name;
use ext_conversation_store::contract::{CONVERSATIONS, Conversations};
use ext_session_orchestrator::contract::{
    APPROVALS, Answerer, ApprovalId, Approvals, CancelOutcome, DispatchId, SESSIONS, Sessions,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The services behind the transports, looked up when they are needed.
pub(crate) struct TransportServices {
    host: Host,
    /// Cancelled when the transports close.
    pub(crate) closing: CancelToken,
}

impl TransportServices {
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

    /// The models that the settings name, which need not be in any provider's list.
    pub(crate) fn configured_models(&self) -> Vec<String> {
        let Ok(settings) = self.host.all_settings() else { return Vec::new() };
        let first: Option<String> = settings.read("model.model");
        let fallbacks: Vec<String> = settings.read("model.fallbacks").unwrap_or_default();
        first.into_iter().chain(fallbacks).collect()
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

    /// Answers a question; `from` is the way that the answer came.
    pub(crate) async fn answer(
        &self,
        id: &ApprovalId,
        answer: ApprovalAnswerWire,
        from: String,
    ) -> Result<(), Refusal> {
        let by = Answerer { who: user_name(), from };
        Ok(self.approvals()?.answer(id, answer.into_answer(), by).await?)
    }

    /// Logs what the client is not told.
    pub(crate) fn note(&self, refusal: &Refusal) {
        if let Some(cause) = &refusal.cause {
            let fields = Map::from_iter([("cause".to_owned(), json!(cause))]);
            self.host.log(Level::Error, "a request failed", fields);
        }
    }

    pub(crate) fn log(&self, level: Level, message: &str, fields: Map<String, Value>) {
        self.host.log(level, message, fields);
    }

    /// Cancels a dispatch without waiting for it; for clients that disconnected.
    pub(crate) fn abandon(self: &Arc<Self>, dispatch: DispatchId) {
        let services = Arc::clone(self);
        // Outside a runtime the program is at its end, and the dispatch is durable.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            if let Ok(sessions) = services.sessions() {
                let _: Result<CancelOutcome, _> = sessions.cancel(&dispatch).await;
            }
        });
    }
}
