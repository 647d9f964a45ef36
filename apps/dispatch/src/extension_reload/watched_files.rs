//! Watches the files that extensions and settings are read from.

use super::request_files::{Heard, RequestFiles};
use dispatch_os::files;
use notify::event::{AccessKind, AccessMode};
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

/// How long nothing may change until what changed is read: an editor writes a file in several steps.
const QUIET: Duration = Duration::from_millis(100);
/// How often that wait is begun again at most.
const MAX_WAITS: usize = 10;
/// The most folders that are watched; what is below others is seen with `dispatch ext reload`.
const MAX_FOLDERS: usize = 2_000;
/// Folders of an extension that are no part of it.
const SKIPPED: [&str; 2] = ["node_modules", ".git"];
const SETTINGS: &str = "dispatch.toml";
const EXTENSIONS: &str = "extensions";
const PACKAGES: &str = "node_modules";
const PACKAGE_PREFIX: &str = "dispatch-ext-";

/// Where the files are.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchedPlaces {
    pub(super) project: Option<PathBuf>,
    pub(super) config: PathBuf,
    pub(super) data: PathBuf,
    /// The files of the data folder that matter.
    pub(super) requests: [String; 4],
    /// The folders of the extensions that were found.
    pub(super) extensions: Vec<PathBuf>,
}

impl WatchedPlaces {
    /// Whether a change of a file can change what runs.
    fn concerns(&self, path: &Path) -> bool {
        let Some(folder) = path.parent() else { return false };
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let project = self.project.as_deref();
        if folder == self.data {
            return self.requests.iter().any(|known| *known == name);
        }
        if project == Some(folder) {
            return name == ".dispatch" || name == PACKAGES;
        }
        if folder == self.config || project.is_some_and(|root| folder == root.join(".dispatch")) {
            return name == SETTINGS || name == EXTENSIONS;
        }
        if folder.ends_with(PACKAGES) {
            return name.starts_with(PACKAGE_PREFIX) || name.starts_with('@');
        }
        true
    }

    /// Whether nothing but its own files is looked for in the data folder.
    fn has_data_apart(&self) -> bool {
        self.data != self.config && self.project.as_ref() != Some(&self.data)
    }

    /// The folders that hold them, as they are now.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let mut open = vec![self.data.clone(), self.config.clone()];
        let mut trees = vec![self.config.join(EXTENSIONS)];
        let mut packages = vec![self.config.join(EXTENSIONS).join(PACKAGES)];
        if let Some(root) = &self.project {
            open.extend([root.clone(), root.join(".dispatch")]);
            trees.push(root.join(".dispatch").join(EXTENSIONS));
            packages.push(root.join(PACKAGES));
        }
        for folder in packages {
            open.extend(below(&folder).into_iter().filter(|path| name_of(path).starts_with('@')));
            open.push(folder);
        }
        trees.extend(self.extensions.iter().cloned());
        let mut found: BTreeSet<PathBuf> = open.into_iter().filter(|folder| files::is_dir(folder)).collect();
        while let Some(folder) = trees.pop() {
            if found.len() >= MAX_FOLDERS || !files::is_dir(&folder) || files::is_symlink(&folder) {
                continue;
            }
            trees.extend(below(&folder).into_iter().filter(|path| !SKIPPED.contains(&name_of(path).as_str())));
            found.insert(folder);
        }
        found
    }
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = files::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| files::is_dir(path) && !files::is_symlink(path)).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The watches of one process.
pub(super) struct WatchedFiles {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    places: Arc<Mutex<WatchedPlaces>>,
    notices: Receiver<()>,
    /// Those of the data folder, where the system can tell them apart from the database beside them.
    requests: Option<RequestFiles>,
}

impl WatchedFiles {
    pub(super) fn open(places: WatchedPlaces) -> notify::Result<Self> {
        // One notice is enough: everything is read again.
        let (notice, notices) = channel(1);
        let shared = Arc::new(Mutex::new(places.clone()));
        let known = Arc::clone(&shared);
        let (names, told) = (Arc::clone(&shared), notice.clone());
        let tell_requests = move |name: Option<&OsStr>| {
            let places = names.lock().unwrap_or_else(PoisonError::into_inner);
            if name.is_none_or(|name| places.requests.iter().any(|known| name == known.as_str())) {
                let _ = told.try_send(());
            }
            if told.is_closed() { Heard::Enough } else { Heard::GoOn }
        };
        let handler = move |event: notify::Result<notify::Event>| {
            let concerns = |event: &notify::Event| {
                let places = known.lock().unwrap_or_else(PoisonError::into_inner);
                event.paths.iter().any(|path| places.concerns(path))
            };
            // What cannot be understood may have been a change.
            if event.is_ok_and(|event| !is_change(event.kind) || !concerns(&event)) {
                return;
            }
            let _ = notice.try_send(());
        };
        let watcher = RecommendedWatcher::new(handler, Config::default().with_follow_symlinks(false))?;
        let requests = RequestFiles::open(tell_requests);
        let mut files = Self { watcher, watched: BTreeSet::new(), places: shared, notices, requests };
        files.watch(places);
        Ok(files)
    }

    /// Watches what is there now, and says whether that is more than before: what was written into a folder before it was
    /// watched, nobody saw.
    pub(super) fn watch(&mut self, places: WatchedPlaces) -> bool {
        let mut wanted = places.folders();
        if self.requests.as_ref().is_some_and(|requests| places.has_data_apart() && requests.watch(&places.data)) {
            wanted.remove(&places.data);
        }
        *self.places.lock().unwrap_or_else(PoisonError::into_inner) = places;
        for gone in self.watched.difference(&wanted) {
            // The system has ended it already if the folder is gone.
            let _ = self.watcher.unwatch(gone);
        }
        // One that was deleted and made again has lost its watch, so each is asked for again. A watch that is there stays:
        // ended and begun again, it would lose what happens in between.
        let watched = |folder: &PathBuf| self.watcher.watch(folder, RecursiveMode::NonRecursive).is_ok();
        let watched: BTreeSet<PathBuf> = wanted.into_iter().filter(watched).collect();
        let is_more = !watched.is_subset(&self.watched);
        self.watched = watched;
        is_more
    }

    /// Waits for a change, and until no more come. `false` when there will be none.
    pub(super) async fn changed(&mut self) -> bool {
        if self.notices.recv().await.is_none() {
            return false;
        }
        for _ in 0..MAX_WAITS {
            match timeout(QUIET, self.notices.recv()).await {
                Ok(Some(())) => {}
                Ok(None) => return false,
                Err(_) => break,
            }
        }
        true
    }
}

/// Reading changes nothing, and we read what we watch.
fn is_change(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_say_what_runs_count() {
        let places = WatchedPlaces {
            project: Some("/p".into()),
            config: "/c".into(),
            data: "/d".into(),
            requests: ["trust.json", "extensions.json", "a", "b"].map(str::to_owned),
            extensions: vec!["/p/node_modules/dispatch-ext-x".into()],
        };
        for path in [
            "/p/.dispatch",
            "/p/.dispatch/dispatch.toml",
            "/p/.dispatch/extensions/hello/index.ts",
            "/p/.dispatch/extensions/hello/lib/a.ts",
            "/c/dispatch.toml",
            "/c/extensions",
            "/d/trust.json",
            "/p/node_modules/dispatch-ext-x",
            "/p/node_modules/dispatch-ext-x/index.js",
            "/p/node_modules/@me",
        ] {
            assert!(places.concerns(Path::new(path)), "{path}");
        }
        for path in
            ["/p/src", "/p/notes.md", "/d/dispatch.db-wal", "/d/trust.lock", "/c/personas", "/p/node_modules/left-pad"]
        {
            assert!(!places.concerns(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_an_extension_brings_but_does_not_run_is_not_watched() {
        let root = tempfile::tempdir().unwrap();
        let extension = root.path().join(".dispatch/extensions/hello");
        for folder in ["lib/deep", "node_modules/typescript", ".git/objects"] {
            std::fs::create_dir_all(extension.join(folder)).unwrap();
        }
        let places = WatchedPlaces { project: Some(root.path().into()), ..WatchedPlaces::default() };
        let folders = places.folders();
        assert!(folders.contains(&extension.join("lib/deep")));
        assert!(!folders.iter().any(|folder| folder.starts_with(extension.join("node_modules"))), "{folders:?}");
        assert!(!folders.iter().any(|folder| folder.starts_with(extension.join(".git"))), "{folders:?}");
    }
}
