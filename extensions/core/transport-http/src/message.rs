//! A message for a session, as clients spell it.

use dispatch_contracts::conversation::Image;
use dispatch_contracts::limits::DispatchPolicy;
use dispatch_contracts::permission::PermissionRule;
use ext_session_orchestrator::contract::{Ask, Mode, Submission};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;

/// The body of a submission; the session is named beside it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MessageWire {
    text: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    images: Vec<Image>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    persona: Option<String>,
    #[serde(default)]
    ask: Ask,
    #[serde(default)]
    policy: Option<DispatchPolicy>,
    #[serde(default)]
    rules: Vec<PermissionRule>,
    #[serde(default)]
    workdir: Option<PathBuf>,
}

impl MessageWire {
    /// What the queue takes. `source` says which way it came.
    pub(crate) fn into_submission(self, session: String, source: &str) -> Submission {
        Submission {
            session,
            text: self.text,
            images: self.images,
            mode: self.mode,
            id: self.id,
            source: source.to_owned(),
            persona: self.persona,
            model: self.model,
            policy: self.policy,
            rules: self.rules,
            ask: self.ask,
            delivery: Value::Null,
            workdir: self.workdir,
            secret_patterns: Vec::new(),
        }
    }
}
