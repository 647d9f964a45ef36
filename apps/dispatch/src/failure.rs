//! Why a command failed: a message, its causes and hints.

use crate::app::Status;
use dispatch_os::OsError;
use dispatch_trust::TrustError;
use ext_hook_pipeline::contract::FilesError;
use ext_intents::contract::IntentsError;
use ext_workspace_hooks::contract::{RunsError, WatchError};
use std::error::Error;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) messages: Vec<String>,
    /// What led to it, the nearest cause first.
    pub(crate) causes: Vec<String>,
    pub(crate) hints: Vec<String>,
}

impl Failure {
    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Status::Usage, message)
    }

    /// A file or a setting is wrong.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Status::Configuration, message)
    }

    /// Something failed that should not fail.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Status::Internal, message)
    }

    fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, messages: vec![message.into()], causes: Vec::new(), hints: Vec::new() }
    }

    /// The failure that an error of a library is, with its causes.
    pub(crate) fn of(status: Status, error: &dyn Error) -> Self {
        let failure = Self::new(status, error.to_string());
        match error.source() {
            Some(source) => failure.caused_by(source),
            None => failure,
        }
    }

    /// The same failure with the error that led to it, and that error's causes. A cause that the message before it
    /// already quotes is left out.
    #[must_use]
    pub(crate) fn caused_by(mut self, error: &dyn Error) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let text = error.to_string();
            let before = self.causes.last().or(self.messages.last());
            if !before.is_some_and(|before| before.contains(&text)) {
                self.causes.push(text);
            }
            cause = error.source();
        }
        self
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
        let failure = Self::of(Status::Internal, &error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        let failure = match &error {
            TrustError::Damaged { .. } => Self::of(Status::Configuration, &error),
            TrustError::PathNotText { .. } => Self::of(Status::Usage, &error),
            TrustError::Os(_) => Self::of(Status::Internal, &error),
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
                Self::of(Status::Configuration, &error).hint("remove the link; the pipeline writes nothing through it")
            }
            other => Self::of(Status::Internal, &other),
        }
    }
}

impl From<IntentsError> for Failure {
    fn from(error: IntentsError) -> Self {
        match error {
            IntentsError::Os(error) => error.into(),
            IntentsError::NotAFile { .. } => Self::of(Status::Configuration, &error),
            IntentsError::NoRepository { .. } => {
                Self::of(Status::Usage, &error).hint("run it in a repository, with git installed")
            }
            IntentsError::UnknownCommit { .. } => Self::of(Status::Usage, &error)
                .hint("name a branch or commit; a shallow clone may not have it (fetch with full depth)"),
            other => Self::of(Status::Internal, &other),
        }
    }
}

impl From<RunsError> for Failure {
    fn from(error: RunsError) -> Self {
        match error {
            RunsError::Unknown { .. } | RunsError::Refused(_) => Self::of(Status::Usage, &error),
            RunsError::Full { .. } => Self::of(Status::Internal, &error)
                .hint("`dispatch runs list` shows what waits; `dispatch watch` works on it"),
            RunsError::Away(_) | RunsError::Storage(_) => Self::of(Status::Internal, &error),
        }
    }
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        let failure = Self::of(Status::Internal, &error);
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn an_error_keeps_its_causes_and_repeats_none() {
        let source = || io::Error::new(io::ErrorKind::PermissionDenied, "permission denied");
        let opaque = Failure::internal("cannot read a.txt").caused_by(&source());
        assert_eq!(
            (opaque.messages, opaque.causes),
            (vec!["cannot read a.txt".to_owned()], vec!["permission denied".to_owned()])
        );
        let quoting = Failure::internal("cannot read a.txt: permission denied").caused_by(&source());
        assert_eq!(quoting.causes, Vec::<String>::new());
        let nested = Failure::of(Status::Usage, &io::Error::other(source()));
        assert_eq!((nested.messages.len(), nested.causes.len()), (1, 0));
    }
}
