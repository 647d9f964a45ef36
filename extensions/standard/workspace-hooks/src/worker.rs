//! Which processes work on a queue, so that one that only brings an event knows whether to start a worker.

use dispatch_os::OsError;
use dispatch_os::digest::{hex, sha256};
use dispatch_os::files::{create_dir_owner_only, exists, read_text_at_most, remove_file, replace};
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_os::process::start_detached;
use dispatch_os::time::unix_ms;
use std::path::{Path, PathBuf};

const FOLDER: &str = "workspace-hooks";
/// The lock of the one that watches.
const WATCH: &str = "watch";
/// Why it does not notice anything.
const UNHEARD: &str = "unheard";
/// Somebody wants the one that watches to end.
const STOP: &str = "stop";
/// The one that watches misses nothing from now on.
const READY: &str = "ready";
const MAX_NOTE_BYTES: u64 = 4096;
/// Hex digits of a workspace's name in a file name.
const NAME_BYTES: usize = 8;
/// What a run of ours has in its environment.
const RUN_VARIABLES: [&str; 3] = ["DISPATCH_RUN_ID", "DISPATCH_HOOK_ID", "DISPATCH_FILE"];
/// What git tells its hooks alone.
const GIT_PREFIX: &str = "GIT_";

/// The workers of all workspaces of a user.
#[derive(Clone, Debug)]
pub struct Workers {
    folder: PathBuf,
}

/// A process that works on a queue, for as long as this lives.
#[derive(Debug)]
pub struct Membership {
    _lock: FileLock,
}

/// The one process that watches a workspace, for as long as this lives.
#[derive(Debug)]
pub struct WatchClaim {
    _lock: FileLock,
    since: PathBuf,
    left: PathBuf,
    /// When the one before this left in order, in milliseconds since 1970.
    pub left_ms: Option<u64>,
    /// Since when the workspace is not known to have been watched, in milliseconds since 1970: the one before this died.
    pub unwatched_since_ms: Option<u64>,
}

impl Drop for WatchClaim {
    fn drop(&mut self) {
        // Whoever leaves in order leaves no gap that has to be made up for; the next one can be asked to.
        let _ = replace(&self.left, unix_ms().to_string().as_bytes());
        let _ = remove_file(&self.since);
    }
}

impl Workers {
    /// Those whose locks are in the user's folder for state.
    #[must_use]
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join(FOLDER) }
    }

    /// Says that this process works on the queue of a workspace.
    ///
    /// # Errors
    /// When the lock file cannot be made.
    pub fn join(&self, workspace: &Path) -> Result<Membership, OsError> {
        create_dir_owner_only(&self.folder)?;
        let wait = std::time::Duration::from_secs(5);
        FileLock::acquire(&self.file(workspace, "work"), LockKind::Shared, wait).map(|lock| Membership { _lock: lock })
    }

    /// Whether a process works on the queue of a workspace.
    #[must_use]
    pub fn is_worked_on(&self, workspace: &Path) -> bool {
        let file = self.file(workspace, "work");
        exists(&file) && matches!(FileLock::try_acquire(&file, LockKind::Exclusive), Ok(None))
    }

    /// Claims to be the one that watches a workspace; `Err` names whoever does already.
    ///
    /// # Errors
    /// When the lock file cannot be made.
    pub fn claim_watch(&self, workspace: &Path) -> Result<Result<WatchClaim, String>, OsError> {
        create_dir_owner_only(&self.folder)?;
        let note = self.file(workspace, "watcher");
        match FileLock::try_acquire(&self.file(workspace, WATCH), LockKind::Exclusive)? {
            Some(lock) => {
                // What another one could not hear says nothing about this one.
                let _ = remove_file(self.file(workspace, UNHEARD));
                let _ = remove_file(self.file(workspace, STOP));
                let _ = remove_file(self.file(workspace, READY));
                replace(&note, format!("process {}", dispatch_os::process::id()).as_bytes())?;
                let (since, left) = (self.file(workspace, "since"), self.file(workspace, "left"));
                let (unwatched_since_ms, left_ms) = (time_in(&since), time_in(&left));
                if unwatched_since_ms.is_none() {
                    replace(&since, unix_ms().to_string().as_bytes())?;
                }
                Ok(Ok(WatchClaim { _lock: lock, since, left, left_ms, unwatched_since_ms }))
            }
            None => {
                let other = read_text_at_most(&note, MAX_NOTE_BYTES);
                Ok(Err(other.unwrap_or_else(|_| "another process".to_owned())))
            }
        }
    }

    /// Who watches a workspace, if anybody does.
    #[must_use]
    pub fn watcher(&self, workspace: &Path) -> Option<String> {
        let lock = self.file(workspace, WATCH);
        let is_held = exists(&lock) && matches!(FileLock::try_acquire(&lock, LockKind::Shared), Ok(None));
        let note = || read_text_at_most(&self.file(workspace, "watcher"), MAX_NOTE_BYTES);
        is_held.then(|| note().unwrap_or_else(|_| "another process".to_owned()))
    }

    /// Says that the one that watches a workspace misses nothing from now on.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn tell_ready(&self, workspace: &Path) -> Result<(), OsError> {
        replace(&self.file(workspace, READY), b"")
    }

    /// Who watches a workspace and misses nothing any more.
    #[must_use]
    pub fn ready_watcher(&self, workspace: &Path) -> Option<String> {
        self.watcher(workspace).filter(|_| exists(self.file(workspace, READY)))
    }

    /// Asks the one that watches a workspace to end.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn ask_to_stop(&self, workspace: &Path) -> Result<(), OsError> {
        replace(&self.file(workspace, STOP), b"")
    }

    /// Whether the one that watches a workspace was asked to end.
    #[must_use]
    pub fn is_asked_to_stop(&self, workspace: &Path) -> bool {
        exists(self.file(workspace, STOP))
    }

    /// Says why the one that watches a workspace does not notice what becomes of its files.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub fn tell_unheard(&self, workspace: &Path, why: &str) -> Result<(), OsError> {
        replace(&self.file(workspace, UNHEARD), why.as_bytes())
    }

    /// Why the one that watches a workspace does not notice what becomes of its files, if it does not.
    #[must_use]
    pub fn unheard(&self, workspace: &Path) -> Option<String> {
        let why = read_text_at_most(&self.file(workspace, UNHEARD), MAX_NOTE_BYTES).ok()?;
        // It is of no matter any more once whoever said it is gone.
        let watched = FileLock::try_acquire(&self.file(workspace, WATCH), LockKind::Shared);
        matches!(watched, Ok(None)).then_some(why)
    }

    /// Starts a worker that leaves when nothing waits, unless there is one. Call it when the event is stored.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn ensure(&self, workspace: &Path, program: &Path) -> Result<(), OsError> {
        if self.is_worked_on(workspace) {
            return Ok(());
        }
        let arguments = ["watch".as_ref(), "--until-idle".as_ref(), "--project".as_ref(), workspace.as_os_str()];
        let hides = |name: &str| name.starts_with(GIT_PREFIX) || RUN_VARIABLES.contains(&name);
        start_detached(program, arguments, workspace, hides).map(drop)
    }

    fn file(&self, workspace: &Path, kind: &str) -> PathBuf {
        let name = hex(sha256(workspace.as_os_str().as_encoded_bytes()).into_iter().take(NAME_BYTES));
        self.folder.join(format!("{name}.{kind}"))
    }
}

/// The time that a file holds, in milliseconds since 1970.
fn time_in(file: &Path) -> Option<u64> {
    read_text_at_most(file, MAX_NOTE_BYTES).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_known_for_as_long_as_they_live() {
        let folder = tempfile::tempdir().unwrap();
        let workers = Workers::new(folder.path());
        let (one, other) = (Path::new("/w/one"), Path::new("/w/other"));
        assert!(!workers.is_worked_on(one));
        let first = workers.join(one).unwrap();
        let second = workers.join(one).unwrap();
        assert!(workers.is_worked_on(one) && !workers.is_worked_on(other));
        drop(first);
        assert!(workers.is_worked_on(one));
        drop(second);
        assert!(!workers.is_worked_on(one));
    }

    #[test]
    fn one_process_watches_and_the_next_is_told_which() {
        let folder = tempfile::tempdir().unwrap();
        let workers = Workers::new(folder.path());
        let workspace = Path::new("/w/one");
        let claim = workers.claim_watch(workspace).unwrap().unwrap();
        let told = workers.claim_watch(workspace).unwrap().unwrap_err();
        assert_eq!(told, format!("process {}", dispatch_os::process::id()));
        assert_eq!(workers.watcher(workspace), Some(told));
        workers.ask_to_stop(workspace).unwrap();
        assert!(workers.is_asked_to_stop(workspace));
        assert_eq!(claim.unwatched_since_ms, None);
        workers.tell_unheard(workspace, "why").unwrap();
        assert_eq!(workers.unheard(workspace).as_deref(), Some("why"));
        drop(claim);
        assert_eq!((workers.unheard(workspace), workers.watcher(workspace)), (None, None));
        let claim = workers.claim_watch(workspace).unwrap().unwrap();
        assert_eq!(workers.unheard(workspace), None);
        assert!(!workers.is_asked_to_stop(workspace), "that was meant for the one before");
        assert_eq!(claim.unwatched_since_ms, None, "the one before left in order");
        assert!(claim.left_ms.is_some(), "and it is known when");
        let began = std::fs::read_to_string(&claim.since).unwrap();
        drop(claim);
        let dead = workers.file(workspace, "since");
        for _ in 0..2 {
            std::fs::write(&dead, &began).unwrap();
            let claim = workers.claim_watch(workspace).unwrap().unwrap();
            assert_eq!(claim.unwatched_since_ms, began.parse().ok(), "until somebody leaves in order");
        }
    }
}
