//! A person's answer to a question, as clients spell it.
//!
//! Pure.

use ext_session_orchestrator::contract::Answer;
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

    /// The answer as the queue takes it.
    pub(crate) fn into_answer(self) -> Answer {
        match self.answer {
            ApprovalAnswerWord::Once => Answer::Once,
            ApprovalAnswerWord::Session => Answer::Session,
            ApprovalAnswerWord::Deny => Answer::Deny { reason: self.reason },
        }
    }
}
