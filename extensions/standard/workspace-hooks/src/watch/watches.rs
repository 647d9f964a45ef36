//! The watches that the system keeps for us, one for each folder that counts and none for the others.

use super::notify_events::observed;
use super::observation::Observation;
use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where one watch is enough for a whole tree, because the system has no limit for what is below it.
const WHOLE_TREE: bool = cfg!(not(target_os = "linux"));

/// Why nothing is watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The folder does not exist.
    #[error("{} is not a folder", path.display())]
    NoFolder {
        /// Where it should be.
        path: PathBuf,
    },
    /// The system does not let us watch at all.
    #[error("cannot watch files: {source}")]
    Refused {
        /// Why.
        source: notify::Error,
    },
    /// The system has no thread to give.
    #[error("cannot start the thread that watches files: {source}")]
    Thread {
        /// Why.
        source: std::io::Error,
    },
}

impl WatchError {
    /// What scripts know it by.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoFolder { .. } => "WATCH_NO_FOLDER",
            Self::Refused { .. } => "WATCH_REFUSED",
            Self::Thread { .. } => "WATCH_NO_THREAD",
        }
    }

    /// What would help.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoFolder { .. } => Some("name a folder that exists with --project"),
            Self::Refused { .. } => Some(
                "too many programs may be watching: raise fs.inotify.max_user_instances with sysctl, or end one of them",
            ),
            Self::Thread { .. } => None,
        }
    }
}

/// The watches of one workspace; copies share them.
#[derive(Clone)]
pub(super) struct Watches {
    shared: Arc<Mutex<WatchedFolders>>,
    most: Option<usize>,
}

struct WatchedFolders {
    watcher: RecommendedWatcher,
    watched: usize,
    /// Folders that the system has no watch for; they are read again and again instead.
    polled: BTreeSet<PathBuf>,
}

impl Watches {
    /// Begins to listen. What is noticed goes to `notices`; when that is full, `overflowed` is set instead.
    pub(super) fn new(
        notices: SyncSender<Observation>,
        overflowed: Arc<AtomicBool>,
        most: Option<usize>,
    ) -> Result<Self, WatchError> {
        let handler = move |notice| {
            if let Some(observation) = observed(notice)
                && let Err(TrySendError::Full(_)) = notices.try_send(observation)
            {
                overflowed.store(true, Ordering::Release);
            }
        };
        let config = Config::default().with_follow_symlinks(false);
        let watcher = RecommendedWatcher::new(handler, config).map_err(|source| WatchError::Refused { source })?;
        let shared = WatchedFolders { watcher, watched: 0, polled: BTreeSet::new() };
        Ok(Self { shared: Arc::new(Mutex::new(shared)), most })
    }

    /// Watches the root: where the system can, with everything below it.
    pub(super) fn add_root(&self, root: &Path) {
        let mode = if WHOLE_TREE { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        self.lock().add(root, mode, self.most);
    }

    /// Watches one more folder. Where no watch is left, the folder is polled.
    pub(super) fn add(&self, folder: &Path) {
        if !WHOLE_TREE {
            self.lock().add(folder, RecursiveMode::NonRecursive, self.most);
        }
    }

    /// Watches a folder outside the workspace.
    pub(super) fn add_outside(&self, folder: &Path) {
        self.lock().add(folder, RecursiveMode::NonRecursive, self.most);
    }

    /// Ends the watch of a folder that no longer counts.
    pub(super) fn remove(&self, folder: &Path) {
        let mut shared = self.lock();
        shared.polled.remove(folder);
        // The system has ended it already if the folder is gone.
        let _ = shared.watcher.unwatch(folder);
    }

    pub(super) fn polled(&self) -> Vec<PathBuf> {
        self.lock().polled.iter().cloned().collect()
    }

    /// Forgets which folders are polled before all of them are added again.
    pub(super) fn begin_anew(&self) {
        let mut shared = self.lock();
        shared.watched = 0;
        shared.polled.clear();
    }

    fn lock(&self) -> MutexGuard<'_, WatchedFolders> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedFolders {
    fn add(&mut self, folder: &Path, mode: RecursiveMode, most: Option<usize>) {
        let full = most.is_some_and(|most| self.watched >= most);
        let added =
            if full { Err(notify::Error::new(ErrorKind::MaxFilesWatch)) } else { self.watcher.watch(folder, mode) };
        match added {
            Ok(()) => {
                self.watched += 1;
                self.polled.remove(folder);
            }
            // It is gone already; who removed it is told by the folder above.
            Err(error) if is_missing(&error.kind) => {}
            Err(_) => {
                self.polled.insert(folder.to_owned());
            }
        }
    }
}

fn is_missing(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}
