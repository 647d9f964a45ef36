//! Exclusive claims of sessions on intents: taken before the first change, kept while the session is active.

use std::path::PathBuf;
use std::time::Duration;

use dispatch_os::files::{self, Access, read_at_most};
use dispatch_os::paths::safe_file_name;
use dispatch_os::{FileLock, LockKind};
use serde::{Deserialize, Serialize};

use crate::error::IntentsError;
use crate::gate::{CallTarget, is_owned};
use crate::intent::{ClaimMode, IntentSpec};
use crate::layout::OrchestrationLayout;
use crate::local_folder::create_local_folder;

const LOCK_WAIT: Duration = Duration::from_millis(100);
const MAX_CLAIM_BYTES: u64 = 4096;
/// A claim is not rewritten more often than this.
const REFRESH_MS: i64 = 5_000;

/// A claim on an intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldClaim {
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

/// The session that needs a claim, and the time.
#[derive(Clone, Copy)]
pub(crate) struct ClaimRequest<'a> {
    /// The session.
    pub session: &'a str,
    /// Its host.
    pub host: &'a str,
    /// Unix milliseconds.
    pub now_ms: i64,
    /// How long a claim stays after the last event of its session.
    pub lifetime_ms: i64,
    /// The time of the last event of a session, if it is known.
    pub last_event_ms: &'a dyn Fn(&str) -> Option<i64>,
}

impl ClaimRequest<'_> {
    fn is_alive(&self, held: &HeldClaim) -> bool {
        let last = (self.last_event_ms)(&held.session).unwrap_or(0).max(held.seen_ms);
        self.now_ms - last < self.lifetime_ms
    }
}

/// Takes the claim of the active intent, if it is exclusive; returns the claim of another session that blocks the call.
///
/// # Errors
/// When a file cannot be written, or the lock is busy.
pub(crate) fn take(
    layout: &OrchestrationLayout,
    intents: &[IntentSpec],
    active: &IntentSpec,
    targets: &[CallTarget],
    asker: &ClaimRequest<'_>,
) -> Result<Option<HeldClaim>, IntentsError> {
    let wanted = active.claim == Some(ClaimMode::Exclusive);
    let folder = layout.claims_folder();
    if !wanted && !files::exists(&folder) {
        return Ok(None);
    }
    create_local_folder(layout)?;
    files::create_dir_all(&folder).map_err(|source| IntentsError::io("create", &folder, source))?;
    let _held = FileLock::acquire(&folder.join("lock"), LockKind::Exclusive, LOCK_WAIT)?;
    if let Some(held) = blocking_claim(layout, intents, active, targets, asker) {
        return Ok(Some(held));
    }
    if wanted {
        refresh(layout, active, asker)?;
    }
    Ok(None)
}

/// The claim of another session that blocks a call, if any. Writes nothing.
#[must_use]
pub(crate) fn blocking_claim(
    layout: &OrchestrationLayout,
    intents: &[IntentSpec],
    active: &IntentSpec,
    targets: &[CallTarget],
    asker: &ClaimRequest<'_>,
) -> Option<HeldClaim> {
    let exclusive =
        intents.iter().filter(|intent| intent.claim == Some(ClaimMode::Exclusive) && intent.status.is_open());
    exclusive
        .filter(|intent| intent.id == active.id || targets.iter().any(|target| is_owned(intent, target)))
        .filter_map(|intent| read(layout, &intent.id))
        .find(|held| held.session != asker.session && asker.is_alive(held))
}

/// Releases the claims of a session.
pub(crate) fn release(layout: &OrchestrationLayout, session: &str) {
    for entry in files::read_dir(layout.claims_folder()).into_iter().flatten().flatten() {
        if parse(&entry.path()).is_some_and(|held| held.session == session) {
            let _ = files::remove_file(entry.path());
        }
    }
}

/// Every claim, by its intent.
#[must_use]
pub(crate) fn all(layout: &OrchestrationLayout) -> Vec<HeldClaim> {
    let entries = files::read_dir(layout.claims_folder()).into_iter().flatten().flatten();
    let mut found: Vec<HeldClaim> = entries.filter_map(|entry| parse(&entry.path())).collect();
    found.sort_by(|one, other| one.intent.cmp(&other.intent));
    found
}

/// Frees the claim on an intent; returns it, if there was one.
///
/// # Errors
/// When the file cannot be removed.
pub(crate) fn free(layout: &OrchestrationLayout, intent: &str) -> Result<Option<HeldClaim>, IntentsError> {
    let Some(held) = read(layout, intent) else {
        return Ok(None);
    };
    let path = path(layout, intent);
    files::remove_file(&path).map_err(|source| IntentsError::io("remove", &path, source))?;
    Ok(Some(held))
}

fn refresh(layout: &OrchestrationLayout, active: &IntentSpec, asker: &ClaimRequest<'_>) -> Result<(), IntentsError> {
    let path = path(layout, &active.id);
    let known = read(layout, &active.id);
    let own = known.as_ref().filter(|held| held.session == asker.session);
    if own.is_some_and(|held| (asker.now_ms - held.seen_ms).abs() < REFRESH_MS) {
        return Ok(());
    }
    let claim = HeldClaim {
        intent: active.id.clone(),
        session: asker.session.to_owned(),
        host: asker.host.to_owned(),
        since_ms: own.map_or(asker.now_ms, |held| held.since_ms),
        seen_ms: asker.now_ms,
    };
    if known.is_none() && !files::exists(&path) {
        // Fails if another process created it without taking the lock.
        drop(files::create_new(&path, Access::Usual)?);
    }
    Ok(files::replace(&path, &serde_json::to_vec(&claim)?)?)
}

fn read(layout: &OrchestrationLayout, intent: &str) -> Option<HeldClaim> {
    parse(&path(layout, intent)).filter(|held| held.intent == intent)
}

fn parse(path: &std::path::Path) -> Option<HeldClaim> {
    serde_json::from_slice(&read_at_most(path, MAX_CLAIM_BYTES).ok()?).ok()
}

fn path(layout: &OrchestrationLayout, intent: &str) -> PathBuf {
    layout.claims_folder().join(format!("{}.json", safe_file_name(intent)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::IntentStatus;
    use crate::scope::TargetExtent;

    const NOW_MS: i64 = 1_767_323_045_678;
    const LIFETIME_MS: i64 = 60_000;

    fn intent(id: &str, scope: &str, claim: Option<ClaimMode>) -> IntentSpec {
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
            mode: None,
        }
    }

    struct ClaimFixture {
        _folder: tempfile::TempDir,
        layout: OrchestrationLayout,
        intents: Vec<IntentSpec>,
    }

    impl ClaimFixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let layout = OrchestrationLayout::new(folder.path());
            let intents = vec![intent("A", "src/**", Some(ClaimMode::Exclusive)), intent("B", "**", None)];
            Self { _folder: folder, layout, intents }
        }

        fn ask(&self, session: &str, active: usize, path: &str, now_ms: i64, last_event_ms: i64) -> Option<String> {
            let last_event = |_: &str| Some(last_event_ms);
            let asker =
                ClaimRequest { session, host: "h", now_ms, lifetime_ms: LIFETIME_MS, last_event_ms: &last_event };
            let target = CallTarget::Inside { path: path.to_owned(), extent: TargetExtent::File };
            let held = take(&self.layout, &self.intents, &self.intents[active], &[target], &asker).unwrap();
            held.map(|held| held.session)
        }
    }

    #[test]
    fn the_first_session_holds_the_claim_until_it_is_gone() {
        let place = ClaimFixture::new();
        assert_eq!(place.ask("one", 0, "src/a", NOW_MS, 0), None);
        assert_eq!(place.ask("one", 0, "src/a", NOW_MS + 1, 0), None);
        assert_eq!(place.ask("two", 0, "src/a", NOW_MS + 2, 0).as_deref(), Some("one"));
        assert_eq!(place.ask("two", 1, "src/a", NOW_MS + 2, 0).as_deref(), Some("one"));
        assert_eq!(place.ask("two", 1, "docs/a", NOW_MS + 2, 0), None);
        let later = NOW_MS + LIFETIME_MS + 10;
        assert_eq!(place.ask("two", 0, "src/a", later, later - 5).as_deref(), Some("one"), "it is still active");
        assert_eq!(place.ask("two", 0, "src/a", later, 0), None, "it is gone");
        assert_eq!(place.ask("one", 0, "src/a", later, 0).as_deref(), Some("two"));
        release(&place.layout, "two");
        assert_eq!(place.ask("one", 0, "src/a", later, 0), None);
    }

    #[test]
    fn exactly_one_of_many_gets_the_claim() {
        let place = ClaimFixture::new();
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
