//! The declared intents as they are now: read once per change of the file, then from a cache of its content.

use std::io;

use dispatch_os::{OsError, files};
use serde::{Deserialize, Serialize};

use crate::file::{self, FileState};
use crate::hash::content_hash;
use crate::intent::IntentFile;
use crate::layout::{INTENTS_FILE, Layout};
use crate::local::make_local_folder;

const MAX_CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// So many problems are told in one warning.
const MAX_TOLD: usize = 3;

/// Whether intents are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Declared {
    /// The workspace has none: nothing is gated or recorded.
    Absent,
    /// They cannot be read, so nothing is gated or recorded either; why.
    Broken(String),
    /// They are.
    Ready(IntentFile),
}

/// Whether a cache may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// It may.
    Write,
    /// Only read.
    ReadOnly,
}

#[derive(Serialize, Deserialize)]
struct Cached {
    /// The hash of the text that was parsed.
    hash: String,
    file: IntentFile,
}

/// The intents of a workspace.
#[must_use]
pub fn load(layout: &Layout, caching: Caching) -> Declared {
    let text = match files::read_at_most(&layout.intents_file(), file::LIMIT_BYTES) {
        Ok(text) => text,
        Err(error) if is_absent(&error) => return Declared::Absent,
        Err(error) => return Declared::Broken(error.to_string()),
    };
    let hash = content_hash(&text);
    if let Some(cached) = cached(layout).filter(|cached| cached.hash == hash) {
        return Declared::Ready(cached.file);
    }
    match parse(&text) {
        Ok(file) => {
            if caching == Caching::Write {
                keep(layout, hash, &file);
            }
            Declared::Ready(file)
        }
        Err(detail) => Declared::Broken(detail),
    }
}

/// The intents as they last were readable, for a call that may have removed them itself.
#[must_use]
pub fn last_known(layout: &Layout) -> Option<IntentFile> {
    cached(layout).map(|cached| cached.file)
}

/// Intents that cannot be relied on are left out; a file without any other is broken.
fn parse(text: &[u8]) -> Result<IntentFile, String> {
    let loaded = file::parse_bytes(text);
    match loaded.state {
        FileState::Read => Ok(IntentFile { active_intents: loaded.intents }),
        FileState::Absent | FileState::Malformed => {
            let told: Vec<String> = loaded.problems.iter().take(MAX_TOLD).map(ToString::to_string).collect();
            Err(format!("{INTENTS_FILE}:{}", told.join("; ")))
        }
    }
}

fn is_absent(error: &OsError) -> bool {
    error.is_not_found() || matches!(error, OsError::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
}

fn cached(layout: &Layout) -> Option<Cached> {
    serde_json::from_slice(&files::read_at_most(&layout.parsed_file(), MAX_CACHE_BYTES).ok()?).ok()
}

/// Without the cache the next call parses again, which is all that is lost when it cannot be written.
fn keep(layout: &Layout, hash: String, file: &IntentFile) {
    let cached = Cached { hash, file: file.clone() };
    let written = serde_json::to_vec(&cached)
        .map(|bytes| make_local_folder(layout).and_then(|()| Ok(files::replace(&layout.parsed_file(), &bytes)?)));
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
        let layout = Layout::new(folder.path());
        assert_eq!(load(&layout, Caching::Write), Declared::Absent);
        fs::create_dir(layout.folder()).unwrap();
        assert_eq!(load(&layout, Caching::Write), Declared::Absent);
        fs::write(layout.intents_file(), ONE).unwrap();
        let Declared::Ready(first) = load(&layout, Caching::ReadOnly) else { panic!("not ready") };
        assert!(!layout.local_folder().exists());
        assert_eq!(load(&layout, Caching::Write), Declared::Ready(first.clone()));
        assert!(layout.parsed_file().exists());
        assert_eq!(load(&layout, Caching::Write), Declared::Ready(first));
        fs::write(layout.intents_file(), ONE.replace("INT-001", "INT-002")).unwrap();
        let Declared::Ready(second) = load(&layout, Caching::Write) else { panic!("not ready") };
        assert_eq!(second.active_intents[0].id, "INT-002");
    }

    #[test]
    fn what_is_not_an_intent_file_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        fs::create_dir(layout.folder()).unwrap();
        for text in ["active_intents: 7", "[", "active_intents:\n  - id: X\n", "\u{0}", "active_intents: yes"] {
            fs::write(layout.intents_file(), text).unwrap();
            assert!(matches!(load(&layout, Caching::Write), Declared::Broken(_)), "{text:?}");
        }
        fs::write(layout.intents_file(), b"active_intents: \xff\xfe").unwrap();
        assert!(matches!(load(&layout, Caching::Write), Declared::Broken(_)));
    }
}
