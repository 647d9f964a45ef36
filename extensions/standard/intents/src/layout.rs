//! The paths of the intent file, the ledger and their local data in a workspace.

use std::path::{Path, PathBuf};

use dispatch_os::paths::safe_file_name;

/// The folder that switches intents on.
pub const FOLDER: &str = ".orchestration";
/// The declared intents, below that folder.
pub const INTENTS_FILE: &str = "active_intents.yaml";
/// The ledger, below that folder.
pub(crate) const LEDGER_FILE: &str = "agent_trace.jsonl";
/// The end of the ledger after the last append, below that folder.
pub(crate) const HEAD_FILE: &str = "agent_trace.head";
/// A table of intents and their files for people, below that folder.
pub(crate) const MAP_FILE: &str = "intent_map.md";
/// Caches and other data of this machine, below that folder; git ignores it.
pub(crate) const LOCAL_FOLDER: &str = ".trace";

/// What keeps derived files out of git, below that folder.
pub(crate) const IGNORE_FILE: &str = ".gitignore";
/// What makes git merge the ledger by union, below that folder.
pub(crate) const ATTRIBUTES_FILE: &str = ".gitattributes";

/// The paths of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrchestrationLayout {
    /// The workspace.
    pub root: PathBuf,
}

impl OrchestrationLayout {
    /// The layout of a workspace.
    #[must_use]
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// `.orchestration`.
    #[must_use]
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The declared intents.
    #[must_use]
    pub(crate) fn intents_file(&self) -> PathBuf {
        self.folder().join(INTENTS_FILE)
    }

    /// The ledger.
    #[must_use]
    pub(crate) fn ledger_file(&self) -> PathBuf {
        self.folder().join(LEDGER_FILE)
    }

    /// The end of the ledger.
    #[must_use]
    pub(crate) fn head_file(&self) -> PathBuf {
        self.folder().join(HEAD_FILE)
    }

    /// The map for people.
    #[must_use]
    pub(crate) fn map_file(&self) -> PathBuf {
        self.folder().join(MAP_FILE)
    }

    /// Caches, locks, claims and contents of this machine.
    #[must_use]
    pub(crate) fn local_folder(&self) -> PathBuf {
        self.folder().join(LOCAL_FOLDER)
    }

    /// The lock of the writer of the ledger.
    #[must_use]
    pub(crate) fn lock_file(&self) -> PathBuf {
        self.local_folder().join("ledger.lock")
    }

    /// The end of the ledger that the indexes cover.
    #[must_use]
    pub(crate) fn indexed_file(&self) -> PathBuf {
        self.files_folder().join("indexed.json")
    }

    /// The offsets of each intent's newest entries.
    #[must_use]
    pub(crate) fn recent_folder(&self) -> PathBuf {
        self.local_folder().join("recent")
    }

    /// The offsets of an intent's newest entries.
    #[must_use]
    pub(crate) fn recent_file(&self, intent: &str) -> PathBuf {
        self.recent_folder().join(safe_file_name(intent))
    }

    /// The offset of each file's newest entry.
    #[must_use]
    pub(crate) fn files_folder(&self) -> PathBuf {
        self.local_folder().join("files")
    }

    /// The offset of a file's newest entry.
    #[must_use]
    pub(crate) fn file_index(&self, path: &str) -> PathBuf {
        self.files_folder().join(crate::hash::digits_of(path.as_bytes()))
    }

    /// The lines of ended sessions, outside the ledger.
    #[must_use]
    pub(crate) fn archive_folder(&self) -> PathBuf {
        self.folder().join("archive")
    }

    /// The calls in flight.
    #[must_use]
    pub(crate) fn calls_folder(&self) -> PathBuf {
        self.local_folder().join("calls")
    }

    /// The exclusive claims of sessions.
    #[must_use]
    pub(crate) fn claims_folder(&self) -> PathBuf {
        self.local_folder().join("claims")
    }

    /// The parsed intent file.
    #[must_use]
    pub(crate) fn parsed_file(&self) -> PathBuf {
        self.local_folder().join("intents.json")
    }

    /// Where the content with this hash (`sha256:...`) is stored, if it was small enough.
    #[must_use]
    pub(crate) fn content_file(&self, hash: &str) -> PathBuf {
        let digits = hash.strip_prefix(crate::hash::PREFIX).unwrap_or(hash);
        let (folder, name) = digits.split_at_checked(2).unwrap_or(("xx", digits));
        self.contents_folder().join(folder).join(name)
    }

    /// The stored contents.
    #[must_use]
    pub(crate) fn contents_folder(&self) -> PathBuf {
        self.local_folder().join("contents")
    }
}
