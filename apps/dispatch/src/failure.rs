//! What a command could not do, in words for a person, with a way out.

use crate::app::Status;
use dispatch_os::OsError;
use dispatch_trust::TrustError;
use ext_hook_pipeline::session_files::FilesError;
use ext_intents::error::IntentsError;
use ext_workspace_hooks::contract::{RunsError, WatchError};

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) messages: Vec<String>,
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// The command line asks for something that is not there.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Status::Usage, message)
    }

    /// A file or a setting is wrong.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Status::Configuration, message)
    }

    /// Something failed that should not have.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Status::Internal, message)
    }

    fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, messages: vec![message.into()], hints: Vec::new() }
    }

    /// The same failure with advice.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<OsError> for Failure {
    fn from(error: OsError) -> Self {
        let failure = Self::internal(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        let failure = match &error {
            TrustError::Damaged { .. } => Self::configuration(error.to_string()),
            TrustError::PathNotText { .. } => Self::usage(error.to_string()),
            TrustError::Os(_) => Self::internal(error.to_string()),
        };
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<FilesError> for Failure {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Os(error) => error.into(),
            FilesError::Link { .. } => {
                Self::configuration(error.to_string()).hint("remove the link; the pipeline writes nothing through it")
            }
            other => Self::internal(other.to_string()),
        }
    }
}

impl From<IntentsError> for Failure {
    fn from(error: IntentsError) -> Self {
        match error {
            IntentsError::Os(error) => error.into(),
            IntentsError::IntentFile { .. } | IntentsError::NotAFile { .. } => Self::configuration(error.to_string()),
            other => Self::internal(other.to_string()),
        }
    }
}

impl From<RunsError> for Failure {
    fn from(error: RunsError) -> Self {
        match error {
            RunsError::Unknown { .. } | RunsError::Refused(_) => Self::usage(error.to_string()),
            RunsError::Full { .. } => Self::internal(error.to_string())
                .hint("`dispatch runs list` shows what waits; `dispatch watch` works on it"),
            RunsError::Storage(_) => Self::internal(error.to_string()),
        }
    }
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        let failure = Self::internal(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
