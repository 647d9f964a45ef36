//! What the program around the extensions may use: looking at compactions and taking one back.

use dispatch_contracts::BoxFuture;
use dispatch_contracts::ids::TurnId;
use dispatch_contracts::service::Service;
use dispatch_contracts::storage::StorageError;
use ext_conversation_store::contract::ConversationError;
use serde::{Deserialize, Serialize};

/// The compactions of all sessions.
pub const COMPACTIONS: Service<dyn Compactions> = Service::new("compaction/compactions");

/// Looks at compactions and takes them back.
pub trait Compactions: Send + Sync {
    /// Takes the last compaction of a session back: the model reads again what it stood for.
    fn undo<'a>(&'a self, label: &'a str) -> BoxFuture<'a, Result<Compaction, CompactionError>>;
}

/// A summary that stands for all turns up to one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// The last turn that it stands for.
    pub through: TurnId,
    /// How many turns it stands for.
    pub turns: usize,
    /// What the model reads instead of them.
    pub summary: String,
    /// Who made it.
    pub by: SummaryAuthor,
    /// When, in Unix milliseconds.
    pub at_ms: u64,
}

/// Who made a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SummaryAuthor {
    /// The model.
    Model,
    /// A rule, because the model could not.
    Rule,
}

impl SummaryAuthor {
    /// The word that the database knows it by.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Rule => "rule",
        }
    }
}

/// Why a compaction could not be taken back.
#[derive(Debug, thiserror::Error)]
pub enum CompactionError {
    /// There is none that is in force.
    #[error("session `{label}` has no compaction to undo")]
    Nothing {
        /// The session.
        label: String,
    },
    /// The session cannot be read.
    #[error(transparent)]
    Conversation(#[from] ConversationError),
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
