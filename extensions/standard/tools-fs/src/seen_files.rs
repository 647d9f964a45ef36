//! Remembers what each session last saw in a file, so that changes by others are not overwritten unseen.
//!
//! Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dispatch_contracts::ids::SessionId;
use sha2::{Digest as _, Sha256};

/// Files remembered per session; the one seen longest ago is forgotten first.
const MAX_FILES: usize = 4_096;
/// Sessions remembered; the one used longest ago is forgotten first.
const MAX_SESSIONS: usize = 256;

/// A fingerprint of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ContentDigest([u8; 32]);

impl ContentDigest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

#[derive(Default)]
pub(crate) struct SeenFiles {
    sessions: BTreeMap<SessionId, SessionFiles>,
    clock: u64,
}

#[derive(Default)]
struct SessionFiles {
    used: u64,
    files: BTreeMap<PathBuf, (u64, ContentDigest)>,
}

impl SeenFiles {
    pub(crate) fn remember(&mut self, session: &SessionId, path: &Path, digest: ContentDigest) {
        self.clock += 1;
        let now = self.clock;
        let known = self.sessions.entry(session.clone()).or_default();
        known.used = now;
        known.files.insert(path.to_path_buf(), (now, digest));
        if known.files.len() > MAX_FILES {
            drop_oldest(&mut known.files, |(at, _)| *at);
        }
        if self.sessions.len() > MAX_SESSIONS {
            drop_oldest(&mut self.sessions, |session| session.used);
        }
    }

    pub(crate) fn forget(&mut self, session: &SessionId, path: &Path) {
        if let Some(known) = self.sessions.get_mut(session) {
            known.files.remove(path);
        }
    }

    pub(crate) fn get(&self, session: &SessionId, path: &Path) -> Option<ContentDigest> {
        Some(self.sessions.get(session)?.files.get(path)?.1)
    }
}

fn drop_oldest<Key: Ord + Clone, Value>(map: &mut BTreeMap<Key, Value>, age: impl Fn(&Value) -> u64) {
    let oldest = map.iter().min_by_key(|(_, value)| age(value)).map(|(key, _)| key.clone());
    if let Some(oldest) = oldest {
        map.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_do_not_share_what_they_saw() {
        let mut seen = SeenFiles::default();
        seen.remember(&"a".into(), Path::new("/x"), ContentDigest::of(b"1"));
        assert_eq!(seen.get(&"a".into(), Path::new("/x")), Some(ContentDigest::of(b"1")));
        assert_eq!(seen.get(&"b".into(), Path::new("/x")), None);
        seen.forget(&"a".into(), Path::new("/x"));
        assert_eq!(seen.get(&"a".into(), Path::new("/x")), None);
    }

    #[test]
    fn what_was_seen_longest_ago_is_forgotten() {
        let mut seen = SeenFiles::default();
        for index in 0..=MAX_FILES {
            seen.remember(&"a".into(), &PathBuf::from(format!("/{index}")), ContentDigest::of(b""));
        }
        assert_eq!(seen.get(&"a".into(), Path::new("/0")), None);
        assert!(seen.get(&"a".into(), Path::new("/1")).is_some());
        for index in 0..MAX_SESSIONS {
            seen.remember(&SessionId::new(format!("s{index}")), Path::new("/x"), ContentDigest::of(b""));
        }
        assert_eq!(seen.get(&"a".into(), Path::new("/1")), None);
        assert_eq!(seen.sessions.len(), MAX_SESSIONS);
    }
}
