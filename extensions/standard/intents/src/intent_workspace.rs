//! The intents and the ledger of one workspace, as commands and other crates use them.

mod draft;
mod ledger_queries;

use std::path::{Path, PathBuf};

use dispatch_os::files;

use crate::claims::{self, HeldClaim};
use crate::error::IntentsError;
use crate::intent::IntentSpec;
use crate::intent_file::{self, IntentEdit, LoadedIntents};
use crate::layout::{FOLDER, OrchestrationLayout};
use crate::ledger::Ledger;

pub use draft::{DraftOutcome, IntentFileDraft};
pub use ledger_queries::{BlamedFile, ExportFormat, MatchedLine};

/// The intents and the ledger of one workspace. Nothing is read or created before a method is called.
#[derive(Debug, Clone)]
pub struct IntentWorkspace {
    layout: OrchestrationLayout,
}

impl IntentWorkspace {
    /// The workspace with this root.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self { layout: OrchestrationLayout::new(root) }
    }

    /// The nearest folder from `start` upwards that has a folder `.orchestration`.
    #[must_use]
    pub fn find(start: &Path) -> Option<Self> {
        start.ancestors().find(|folder| files::is_dir(folder.join(FOLDER))).map(Self::at)
    }

    /// The root of the workspace.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.layout.root
    }

    /// Whether the workspace has a folder `.orchestration`.
    #[must_use]
    pub fn exists(&self) -> bool {
        files::is_dir(self.layout.folder())
    }

    /// The path of the intent file, whether it exists or not.
    #[must_use]
    pub fn intents_file(&self) -> PathBuf {
        self.layout.intents_file()
    }

    /// The path of the ledger, whether it exists or not.
    #[must_use]
    pub fn ledger_file(&self) -> PathBuf {
        self.layout.ledger_file()
    }

    /// Reads the declared intents and the problems of their file.
    #[must_use]
    pub fn load_intents(&self) -> LoadedIntents {
        intent_file::load(&self.layout)
    }

    /// Declares an intent; creates the intent file if it does not exist.
    ///
    /// # Errors
    /// When the id is taken, the intent is invalid, or the file cannot be edited in place or written.
    pub fn add_intent(&self, intent: &IntentSpec) -> Result<LoadedIntents, IntentsError> {
        intent_file::update(&self.layout, |text| intent_file::add(text, intent))
    }

    /// Edits one intent. Comments, order and formatting of the file stay.
    ///
    /// # Errors
    /// When the intent is unknown, an edit is invalid, or the file cannot be edited in place or written.
    pub fn edit_intent(&self, id: &str, edits: &[IntentEdit]) -> Result<LoadedIntents, IntentsError> {
        intent_file::update(&self.layout, |text| intent_file::change(text, id, edits))
    }

    /// Copies the intent file for an editor; creates the file if it does not exist.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn draft_intents(&self) -> Result<IntentFileDraft, IntentsError> {
        IntentFileDraft::create(&self.layout)
    }

    /// The time of the newest entry of an intent.
    #[must_use]
    pub fn last_activity(&self, intent: &str) -> Option<String> {
        self.ledger().recent(intent, 1).into_iter().next().map(|entry| entry.timestamp)
    }

    /// The exclusive claims of sessions.
    #[must_use]
    pub fn claims(&self) -> Vec<HeldClaim> {
        claims::all(&self.layout)
    }

    /// Frees the claim on an intent; returns it, if there was one.
    ///
    /// # Errors
    /// When the claim cannot be removed.
    pub fn free_claim(&self, intent: &str) -> Result<Option<HeldClaim>, IntentsError> {
        claims::free(&self.layout, intent)
    }

    /// What an agent is told about an intent.
    #[cfg(feature = "count")]
    #[must_use]
    pub fn context_of(&self, intent: &IntentSpec) -> crate::curate::IntentContext {
        use crate::curate::{MAX_ENTRIES, RelatedFile, curate};
        let ledger = self.ledger();
        let files = ledger.files_of(&intent.id).iter().filter_map(RelatedFile::of).collect();
        curate(intent, files, ledger.recent(&intent.id, MAX_ENTRIES), &crate::tokens::count)
    }

    fn ledger(&self) -> Ledger {
        Ledger::open(&self.layout)
    }
}
