//! Where the intents of a workspace and everything about them are kept.

use std::path::{Path, PathBuf};

use dispatch_os::paths::safe_file_name;

/// The folder that switches intents on.
pub const FOLDER: &str = ".orchestration";
/// The declared intents, below that folder.
pub const INTENTS_FILE: &str = "active_intents.yaml";
/// The ledger, below that folder.
pub const LEDGER_FILE: &str = "agent_trace.jsonl";
/// What the ledger's end looked like after the last append, below that folder.
pub const HEAD_FILE: &str = "agent_trace.head";
/// Which intent touched which file, for people, below that folder.
pub const MAP_FILE: &str = "intent_map.md";
/// What can be made again or is only of use on this machine, below that folder; git ignores it.
pub const LOCAL_FOLDER: &str = ".trace";

/// The paths of one workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The workspace.
    pub root: PathBuf,
}

impl Layout {
    /// The layout of a workspace.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// `.orchestration`.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The declared intents.
    #[must_use]
    pub fn intents_file(&self) -> PathBuf {
        self.folder().join(INTENTS_FILE)
    }

    /// The ledger.
    #[must_use]
    pub fn ledger_file(&self) -> PathBuf {
        self.folder().join(LEDGER_FILE)
    }

    /// The end of the ledger.
    #[must_use]
    pub fn head_file(&self) -> PathBuf {
        self.folder().join(HEAD_FILE)
    }

    /// The map for people.
    #[must_use]
    pub fn map_file(&self) -> PathBuf {
        self.folder().join(MAP_FILE)
    }

    /// Caches, locks, claims and contents of this machine.
    #[must_use]
    pub fn local_folder(&self) -> PathBuf {
        self.folder().join(LOCAL_FOLDER)
    }

    /// Held by the one who appends to the ledger.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.local_folder().join("ledger.lock")
    }

    /// The end of the ledger up to which the indexes know it.
    #[must_use]
    pub fn indexed_file(&self) -> PathBuf {
        self.files_folder().join("indexed.json")
    }

    /// The places of each intent's newest entries.
    #[must_use]
    pub fn recent_folder(&self) -> PathBuf {
        self.local_folder().join("recent")
    }

    /// The places of an intent's newest entries.
    #[must_use]
    pub fn recent_file(&self, intent: &str) -> PathBuf {
        self.recent_folder().join(safe_file_name(intent))
    }

    /// The place of each file's newest entry.
    #[must_use]
    pub fn files_folder(&self) -> PathBuf {
        self.local_folder().join("files")
    }

    /// The place of a file's newest entry.
    #[must_use]
    pub fn file_index(&self, path: &str) -> PathBuf {
        self.files_folder().join(crate::hash::digits_of(path.as_bytes()))
    }

    /// The calls in flight.
    #[must_use]
    pub fn calls_folder(&self) -> PathBuf {
        self.local_folder().join("calls")
    }

    /// Who works alone on what.
    #[must_use]
    pub fn claims_folder(&self) -> PathBuf {
        self.local_folder().join("claims")
    }

    /// The parsed intent file.
    #[must_use]
    pub fn parsed_file(&self) -> PathBuf {
        self.local_folder().join("intents.json")
    }

    /// Where the content with this hash (`sha256:...`) is kept, if it was small enough.
    #[must_use]
    pub fn content_file(&self, hash: &str) -> PathBuf {
        let digits = hash.strip_prefix(crate::hash::PREFIX).unwrap_or(hash);
        let (shelf, name) = digits.split_at_checked(2).unwrap_or(("xx", digits));
        self.local_folder().join("contents").join(shelf).join(name)
    }
}
