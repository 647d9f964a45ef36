//! A message for a session, as clients spell it.
//!
//! Pure.

use dispatch_contracts::conversation::Image;
use dispatch_contracts::limits::DispatchPolicy;
use dispatch_contracts::permission::PermissionRule;
use ext_session_orchestrator::contract::{Ask, Mode, Submission};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// The body of a submission; the session is named beside it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewMessage", description = "A message for a session.")]
pub(crate) struct MessageWire {
    /// What to say.
    text: String,
    #[serde(default)]
    mode: Mode,
    /// The sender's own name for the message: the same one again is the same dispatch.
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    images: Vec<Image>,
    /// Another model than the configured one, for this turn.
    #[serde(default)]
    model: Option<String>,
    /// The persona of a new session.
    #[serde(default)]
    persona: Option<String>,
    #[serde(default)]
    ask: Ask,
    /// How many tools the turn runs at once, and when they start.
    #[serde(default)]
    policy: Option<DispatchPolicy>,
    /// Permission rules for this turn.
    #[serde(default)]
    rules: Vec<PermissionRule>,
    /// The folder that the turn works in.
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
            workdir: self.workdir,
            ..Submission::default()
        }
    }
}
