//! A person's answer to a question, as clients spell it.

use crate::refusal::Refusal;
use crate::services::TransportServices;
use ext_session_orchestrator::contract::{Answer, ApprovalId};
use schemars::JsonSchema;
use serde::Deserialize;

/// A person's answer, as clients spell it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ApprovalAnswer")]
pub(crate) struct ApprovalAnswerWire {
    answer: ApprovalAnswerWord,
    /// What the model is told.
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum ApprovalAnswerWord {
    Once,
    Session,
    Deny,
}

impl ApprovalAnswerWire {
    pub(crate) fn new(answer: ApprovalAnswerWord, reason: Option<String>) -> Self {
        Self { answer, reason }
    }

    /// Gives the answer to whoever waits for it.
    pub(crate) async fn give(self, services: &TransportServices, id: &ApprovalId) -> Result<(), Refusal> {
        let answer = match self.answer {
            ApprovalAnswerWord::Once => Answer::Once,
            ApprovalAnswerWord::Session => Answer::Session,
            ApprovalAnswerWord::Deny => Answer::Deny { reason: self.reason },
        };
        Ok(services.approvals()?.answer(id, answer).await?)
    }
}
