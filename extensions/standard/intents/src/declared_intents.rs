//! Loads the declared intents; a cache of the parsed file is used until its content changes.

use std::io;

use dispatch_os::{OsError, files};
use serde::{Deserialize, Serialize};

use crate::hash::content_hash;
use crate::intent::IntentFile;
use crate::intent_file::{self, IntentFileState};
use crate::layout::{INTENTS_FILE, OrchestrationLayout};
use crate::local_folder::create_local_folder;

const MAX_CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// The most problems in one warning.
const MAX_TOLD: usize = 3;

/// Whether intents are on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DeclaredIntents {
    /// The workspace has no intent file: nothing is gated or recorded.
    Absent,
    /// The file cannot be used, for this reason, so nothing is gated or recorded.
    Broken(String),
    /// They are on.
    Ready(IntentFile),
}

/// Whether the cache may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheAccess {
    /// Read and write.
    Write,
    /// Read only.
    ReadOnly,
}

#[derive(Serialize, Deserialize)]
struct CachedIntentFile {
    /// The hash of the parsed text.
    hash: String,
    file: IntentFile,
}

/// The intents of a workspace.
#[must_use]
pub(crate) fn load(layout: &OrchestrationLayout, caching: CacheAccess) -> DeclaredIntents {
    let text = match files::read_at_most(&layout.intents_file(), intent_file::LIMIT_BYTES) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => return DeclaredIntents::Absent,
        Err(error) => return DeclaredIntents::Broken(error.to_string()),
    };
    let hash = content_hash(&text);
    if let Some(cached) = cached(layout).filter(|cached| cached.hash == hash) {
        return DeclaredIntents::Ready(cached.file);
    }
    match parse(&text) {
        Ok(file) => {
            if caching == CacheAccess::Write {
                keep(layout, hash, &file);
            }
            DeclaredIntents::Ready(file)
        }
        Err(detail) => DeclaredIntents::Broken(detail),
    }
}

/// The intents from the last valid file, for a call that may have removed the file itself.
#[must_use]
pub(crate) fn last_known(layout: &OrchestrationLayout) -> Option<IntentFile> {
    cached(layout).map(|cached| cached.file)
}

/// Invalid intents are ignored; a file without a valid one is broken.
fn parse(text: &[u8]) -> Result<IntentFile, String> {
    let loaded = intent_file::parse_bytes(text);
    match loaded.state {
        IntentFileState::Read => {
            let ignored =
                loaded.problems.iter().filter_map(|problem| Some((problem.intent.clone()?, problem.to_string())));
            Ok(IntentFile { ignored: ignored.collect(), active_intents: loaded.intents })
        }
        IntentFileState::Absent | IntentFileState::Malformed => {
            let told: Vec<String> = loaded.problems.iter().take(MAX_TOLD).map(ToString::to_string).collect();
            Err(format!("{INTENTS_FILE}:{}", told.join("; ")))
        }
    }
}

fn is_absent(error: &OsError) -> bool {
    error.is_not_found() || matches!(error, OsError::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
}

fn cached(layout: &OrchestrationLayout) -> Option<CachedIntentFile> {
    serde_json::from_slice(&files::read_at_most(&layout.parsed_file(), MAX_CACHE_BYTES).ok()?).ok()
}

/// Without the cache the next call parses the file again, so a failure is ignored.
fn keep(layout: &OrchestrationLayout, hash: String, file: &IntentFile) {
    let cached = CachedIntentFile { hash, file: file.clone() };
    let written = serde_json::to_vec(&cached)
        .map(|bytes| create_local_folder(layout).and_then(|()| Ok(files::replace(&layout.parsed_file(), &bytes)?)));
    drop(written);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = "active_intents:\n  - id: INT-001\n    name: \"On: hooks\"\n    status: IN_PROGRESS\n    owned_scope: [\"src/**\"]\n";

    #[test]
    fn the_cache_follows_the_content_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        assert_eq!(load(&layout, CacheAccess::Write), DeclaredIntents::Absent);
        fs::create_dir(layout.folder()).unwrap();
        assert_eq!(load(&layout, CacheAccess::Write), DeclaredIntents::Absent);
        fs::write(layout.intents_file(), ONE).unwrap();
        let DeclaredIntents::Ready(first) = load(&layout, CacheAccess::ReadOnly) else { panic!("not ready") };
        assert!(!layout.local_folder().exists());
        assert_eq!(load(&layout, CacheAccess::Write), DeclaredIntents::Ready(first.clone()));
        assert!(layout.parsed_file().exists());
        assert_eq!(load(&layout, CacheAccess::Write), DeclaredIntents::Ready(first));
        fs::write(layout.intents_file(), ONE.replace("INT-001", "INT-002")).unwrap();
        let DeclaredIntents::Ready(second) = load(&layout, CacheAccess::Write) else { panic!("not ready") };
        assert_eq!(second.active_intents[0].id, "INT-002");
    }

    #[test]
    fn what_is_not_an_intent_file_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let layout = OrchestrationLayout::new(folder.path());
        fs::create_dir(layout.folder()).unwrap();
        for text in ["active_intents: 7", "[", "active_intents:\n  - id: X\n", "\u{0}", "active_intents: yes"] {
            fs::write(layout.intents_file(), text).unwrap();
            assert!(matches!(load(&layout, CacheAccess::Write), DeclaredIntents::Broken(_)), "{text:?}");
        }
        fs::write(layout.intents_file(), b"active_intents: \xff\xfe").unwrap();
        assert!(matches!(load(&layout, CacheAccess::Write), DeclaredIntents::Broken(_)));
    }
}
