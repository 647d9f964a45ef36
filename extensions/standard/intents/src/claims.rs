//! Which session works alone on an intent: taken before its first change, kept while the session lives.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dispatch_os::files::{self, Access, read_at_most};
use dispatch_os::paths::safe_file_name;
use dispatch_os::{FileLock, LockKind};
use serde::{Deserialize, Serialize};

use crate::error::IntentsError;
use crate::gate::{Target, is_owned};
use crate::intent::{Claim, IntentSpec};
use crate::layout::Layout;
use crate::local::make_local_folder;

const LOCK_WAIT: Duration = Duration::from_millis(100);
const MAX_CLAIM_BYTES: u64 = 4096;
/// A claim is not written again more often than this.
const REFRESH_MS: i64 = 5_000;

/// A claim on an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The intent.
    pub intent: String,
    /// The session that works on it.
    pub session: String,
    /// Its host.
    pub host: String,
    /// Since when, in Unix milliseconds.
    pub since_ms: i64,
    /// When it last changed something, in Unix milliseconds.
    pub seen_ms: i64,
}

/// Who asks, and when.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    /// The session.
    pub session: &'a str,
    /// Its host.
    pub host: &'a str,
    /// Unix milliseconds.
    pub now_ms: i64,
    /// How long a claim outlives the last event of its session.
    pub lifetime_ms: i64,
    /// When a session last did anything, if that is known.
    pub last_event_ms: &'a dyn Fn(&str) -> Option<i64>,
}

impl Asker<'_> {
    fn is_alive(&self, held: &Held) -> bool {
        let last = (self.last_event_ms)(&held.session).unwrap_or(0).max(held.seen_ms);
        self.now_ms - last < self.lifetime_ms
    }
}

/// Takes the claim that the active intent asks for; the claim of another session that stands in the way, if any.
///
/// # Errors
/// When the system refuses, or others keep the lock.
pub fn take(
    layout: &Layout,
    intents: &[IntentSpec],
    active: &IntentSpec,
    targets: &[Target],
    asker: &Asker<'_>,
) -> Result<Option<Held>, IntentsError> {
    let wanted = active.claim == Some(Claim::Exclusive);
    let folder = layout.claims_folder();
    if !wanted && !folder.exists() {
        return Ok(None);
    }
    make_local_folder(layout)?;
    fs::create_dir_all(&folder).map_err(|source| IntentsError::io("create", &folder, source))?;
    let _held = FileLock::acquire(&folder.join("lock"), LockKind::Exclusive, LOCK_WAIT)?;
    if let Some(held) = in_the_way(layout, intents, active, targets, asker) {
        return Ok(Some(held));
    }
    if wanted {
        refresh(layout, active, asker)?;
    }
    Ok(None)
}

/// The claim of another session that covers a call, if any. Writes nothing.
#[must_use]
pub fn in_the_way(
    layout: &Layout,
    intents: &[IntentSpec],
    active: &IntentSpec,
    targets: &[Target],
    asker: &Asker<'_>,
) -> Option<Held> {
    let exclusive = intents.iter().filter(|intent| intent.claim == Some(Claim::Exclusive) && intent.status.is_open());
    exclusive
        .filter(|intent| intent.id == active.id || targets.iter().any(|target| is_owned(intent, target)))
        .filter_map(|intent| read(layout, &intent.id))
        .find(|held| held.session != asker.session && asker.is_alive(held))
}

/// Gives back what a session holds.
pub fn release(layout: &Layout, session: &str) {
    for entry in fs::read_dir(layout.claims_folder()).into_iter().flatten().flatten() {
        if parse(&entry.path()).is_some_and(|held| held.session == session) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn refresh(layout: &Layout, active: &IntentSpec, asker: &Asker<'_>) -> Result<(), IntentsError> {
    let path = path(layout, &active.id);
    let known = read(layout, &active.id);
    let own = known.as_ref().filter(|held| held.session == asker.session);
    if own.is_some_and(|held| (asker.now_ms - held.seen_ms).abs() < REFRESH_MS) {
        return Ok(());
    }
    let claim = Held {
        intent: active.id.clone(),
        session: asker.session.to_owned(),
        host: asker.host.to_owned(),
        since_ms: own.map_or(asker.now_ms, |held| held.since_ms),
        seen_ms: asker.now_ms,
    };
    if known.is_none() && !path.exists() {
        // Even one who does not take the lock cannot come between.
        drop(files::create_new(&path, Access::Usual)?);
    }
    Ok(files::replace(&path, &serde_json::to_vec(&claim)?)?)
}

fn read(layout: &Layout, intent: &str) -> Option<Held> {
    parse(&path(layout, intent)).filter(|held| held.intent == intent)
}

fn parse(path: &std::path::Path) -> Option<Held> {
    serde_json::from_slice(&read_at_most(path, MAX_CLAIM_BYTES).ok()?).ok()
}

fn path(layout: &Layout, intent: &str) -> PathBuf {
    layout.claims_folder().join(format!("{}.json", safe_file_name(intent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::IntentStatus;
    use crate::scope::Extent;

    const NOW_MS: i64 = 1_767_323_045_678;
    const LIFETIME_MS: i64 = 60_000;

    fn intent(id: &str, scope: &str, claim: Option<Claim>) -> IntentSpec {
        IntentSpec {
            id: id.to_owned(),
            name: String::new(),
            status: IntentStatus::InProgress,
            owned_scope: vec![scope.to_owned()],
            constraints: Vec::new(),
            acceptance_criteria: Vec::new(),
            created_at: String::new(),
            updated_at: String::new(),
            kind: None,
            claim,
        }
    }

    struct Place {
        _folder: tempfile::TempDir,
        layout: Layout,
        intents: Vec<IntentSpec>,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::new(folder.path());
            let intents = vec![intent("A", "src/**", Some(Claim::Exclusive)), intent("B", "**", None)];
            Self { _folder: folder, layout, intents }
        }

        fn ask(&self, session: &str, active: usize, path: &str, now_ms: i64, last_event_ms: i64) -> Option<String> {
            let last_event = |_: &str| Some(last_event_ms);
            let asker = Asker { session, host: "h", now_ms, lifetime_ms: LIFETIME_MS, last_event_ms: &last_event };
            let target = Target::Inside { path: path.to_owned(), extent: Extent::File };
            let held = take(&self.layout, &self.intents, &self.intents[active], &[target], &asker).unwrap();
            held.map(|held| held.session)
        }
    }

    #[test]
    fn the_first_session_works_alone_until_it_is_gone() {
        let place = Place::new();
        assert_eq!(place.ask("one", 0, "src/a", NOW_MS, 0), None);
        assert_eq!(place.ask("one", 0, "src/a", NOW_MS + 1, 0), None);
        assert_eq!(place.ask("two", 0, "src/a", NOW_MS + 2, 0).as_deref(), Some("one"));
        assert_eq!(place.ask("two", 1, "src/a", NOW_MS + 2, 0).as_deref(), Some("one"));
        assert_eq!(place.ask("two", 1, "docs/a", NOW_MS + 2, 0), None);
        let later = NOW_MS + LIFETIME_MS + 10;
        assert_eq!(place.ask("two", 0, "src/a", later, later - 5).as_deref(), Some("one"), "it still does things");
        assert_eq!(place.ask("two", 0, "src/a", later, 0), None, "it is gone");
        assert_eq!(place.ask("one", 0, "src/a", later, 0).as_deref(), Some("two"));
        release(&place.layout, "two");
        assert_eq!(place.ask("one", 0, "src/a", later, 0), None);
    }

    #[test]
    fn of_many_at_once_exactly_one_gets_it() {
        let place = Place::new();
        let names: Vec<String> = (0..16).map(|number| format!("s{number}")).collect();
        let refused: usize = std::thread::scope(|scope| {
            let place = &place;
            let ask = |name| scope.spawn(move || usize::from(place.ask(name, 0, "src/a", NOW_MS, 0).is_some()));
            let threads: Vec<_> = names.iter().map(|name| ask(name.as_str())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(refused, names.len() - 1);
    }
}
