//! The thread that turns notices of the system into events, and makes up for notices that were lost.

use super::burst::BurstGatherer;
use super::file_fingerprint::FileFingerprint;
use super::ignore_rules::IgnoreRules;
use super::known_files::KnownFiles;
use super::observation::Observation;
use super::tree_scan::scan_tree;
use super::watches::{WatchError, Watches};
use crate::contract::Event;
use crate::file_names::{FOLDER, HOOKS_FILE};
use dispatch_os::files::{self, Stamp};
use dispatch_os::threads::{self, JoinHandle};
use dispatch_os::time::monotonic_ms;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

mod burst_changes;

/// The most notices that wait; when more come, the tree is looked through instead.
const MAX_NOTICES: usize = 65_536;
/// How long nothing more must be noticed before a burst is over.
const SETTLE_MS: u64 = 5;
/// When a burst is handed over although there is more.
const LONGEST_BURST_MS: u64 = 50;
/// How often folders are read that the system has no watch for.
const POLL_MS: u64 = 1_000;
const LONGEST_SLEEP_MS: u64 = 60_000;

/// What was noticed in one go.
#[derive(Debug, Default)]
pub struct WatchBatch {
    /// What happened.
    pub events: Vec<Event>,
    /// Whether a file of hooks may say something else now.
    pub configuration: bool,
    /// What a person should know.
    pub notes: Vec<String>,
    /// Whether the workspace is gone, so that nothing more will come.
    pub ended: bool,
}

impl WatchBatch {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && !self.configuration && self.notes.is_empty() && !self.ended
    }
}

/// A workspace that is watched until this is dropped.
pub struct WatchHandle {
    /// How many folders are looked at.
    pub folders: usize,
    /// What a person should know from the start.
    pub notes: Vec<String>,
    notices: SyncSender<Observation>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl WatchHandle {
    /// Ends it and waits until what is being handed over has been.
    pub fn stop(mut self) {
        self.tell();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported by the thread.
            let _ = thread.join();
        }
    }

    fn tell(&self) {
        self.stopped.store(true, Ordering::Release);
        // A full queue wakes the thread as well.
        let _ = self.notices.try_send(Observation::Stop);
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        self.tell();
    }
}

/// Watches a workspace. When this returns, nothing that happens from now on is missed.
///
/// `also` is a file elsewhere whose change is reported as one of the configuration. Files that changed at `since_ms`
/// or later are reported as if they had changed now. `deliver` is called on a separate thread, one batch after the
/// other; while it takes its time, what happens is gathered.
///
/// # Errors
/// When the folder does not exist or the system refuses to watch. Folders beyond the system's limit are not an error: they
/// are polled.
pub fn watch(
    root: &Path,
    also: Option<&Path>,
    since_ms: Option<u64>,
    deliver: Box<dyn FnMut(WatchBatch) + Send>,
) -> Result<WatchHandle, WatchError> {
    watch_within(root, also, since_ms, WatchLimits::default(), deliver)
}

/// What is kept at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchLimits {
    pub(super) notices: usize,
    /// Beside what the system allows.
    pub(super) watches: Option<usize>,
}

impl Default for WatchLimits {
    fn default() -> Self {
        Self { notices: MAX_NOTICES, watches: None }
    }
}

/// The same within limits.
pub(super) fn watch_within(
    root: &Path,
    also: Option<&Path>,
    since_ms: Option<u64>,
    limits: WatchLimits,
    deliver: Box<dyn FnMut(WatchBatch) + Send>,
) -> Result<WatchHandle, WatchError> {
    let missing = || WatchError::NoFolder { path: root.to_owned() };
    let root = files::canonicalize(root).ok().filter(|root| files::is_dir(root)).ok_or_else(missing)?;
    let (notices, received) = sync_channel(limits.notices);
    let overflowed = Arc::new(AtomicBool::new(false));
    let stopped = Arc::new(AtomicBool::new(false));
    let watches = Watches::new(notices.clone(), Arc::clone(&overflowed), limits.watches)?;
    let ignore_rules = IgnoreRules::new(&root);
    let mut watcher = FileWatcher {
        known: KnownFiles::default(),
        ignore_rules,
        watches,
        gathering: BurstGatherer::default(),
        also: also.map(Path::to_owned),
        overflowed,
        stopped: Arc::clone(&stopped),
        configuration: false,
        root_is_gone: false,
        next_poll_ms: monotonic_ms() + POLL_MS,
        polled: 0,
        odd_name_told: false,
        root,
        deliver,
    };
    watcher.begin();
    if let Some(since_ms) = since_ms {
        watcher.doubt_since(since_ms);
    }
    let folders = watcher.known.folders().count();
    let notes = watcher.polling_note().into_iter().collect();
    let thread = threads::spawn("workspace watch", move || watcher.run(&received))
        .map_err(|source| WatchError::Thread { source })?;
    Ok(WatchHandle { folders, notes, notices, stopped, thread: Some(thread) })
}

struct FileWatcher {
    root: PathBuf,
    also: Option<PathBuf>,
    known: KnownFiles,
    ignore_rules: IgnoreRules,
    watches: Watches,
    gathering: BurstGatherer,
    overflowed: Arc<AtomicBool>,
    stopped: Arc<AtomicBool>,
    configuration: bool,
    root_is_gone: bool,
    next_poll_ms: u64,
    /// How many folders were polled when it was last told.
    polled: usize,
    odd_name_told: bool,
    deliver: Box<dyn FnMut(WatchBatch) + Send>,
}

impl FileWatcher {
    fn begin(&mut self) {
        self.watches.add_root(&self.root);
        let found = scan_tree(&self.root, Path::new(""), &self.watches);
        found.folders.iter().for_each(|folder| self.known.add_folder(folder));
        found.files.iter().for_each(|(path, print)| self.known.put(path, *print));
        self.watch_configuration();
    }

    /// Has every file that changed since then judged as if it had changed now.
    fn doubt_since(&mut self, since_ms: u64) {
        let since_ns = i128::from(since_ms) * 1_000_000;
        let changed = |path: &PathBuf| {
            let stamp = files::symlink_metadata(self.root.join(path)).map(|found| Stamp::of(&found));
            stamp.is_ok_and(|stamp| stamp.modified_ns.max(stamp.changed_ns) >= since_ns)
        };
        let changed: Vec<PathBuf> = self.known.files_below(Path::new("")).into_iter().filter(changed).collect();
        for path in changed {
            self.known.put(&path, FileFingerprint::UNKNOWN);
            // As if its writer had fallen silent long ago.
            self.gathering.add(Observation::Writing(path), 0, |path| Some(path.to_owned()));
        }
    }

    /// The hooks are watched even where git ignores them.
    fn watch_configuration(&self) {
        let folder = self.root.join(FOLDER);
        if !self.known.has_folder(Path::new(FOLDER)) && files::is_dir(&folder) {
            self.watches.add(&folder);
        }
        if let Some(folder) = self.also.as_deref().and_then(Path::parent).filter(|folder| files::is_dir(folder)) {
            self.watches.add_outside(folder);
        }
    }

    fn run(mut self, notices: &Receiver<Observation>) {
        loop {
            match notices.recv_timeout(self.sleep()) {
                Ok(first) => {
                    if self.take(first).is_break() || self.gather(notices).is_break() {
                        return;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let batch = self.look();
            let ended = batch.ended;
            if !batch.is_empty() {
                (self.deliver)(batch);
            }
            if ended || self.stopped.load(Ordering::Acquire) {
                return;
            }
        }
    }

    /// How long nothing has to be done unless something is noticed.
    fn sleep(&self) -> Duration {
        let polling = (self.polled > 0).then_some(self.next_poll_ms);
        let next = [polling, self.gathering.next_ms()].into_iter().flatten().min();
        let wait = next.map_or(LONGEST_SLEEP_MS, |next| next.saturating_sub(monotonic_ms()).clamp(1, LONGEST_SLEEP_MS));
        Duration::from_millis(wait)
    }

    /// Takes in what belongs to the same burst.
    fn gather(&mut self, notices: &Receiver<Observation>) -> ControlFlow<()> {
        let end_ms = monotonic_ms() + LONGEST_BURST_MS;
        loop {
            let left = end_ms.saturating_sub(monotonic_ms()).min(SETTLE_MS);
            if left == 0 {
                return ControlFlow::Continue(());
            }
            match notices.recv_timeout(Duration::from_millis(left)) {
                Ok(observation) => self.take(observation)?,
                Err(_) => return ControlFlow::Continue(()),
            }
        }
    }

    fn take(&mut self, observation: Observation) -> ControlFlow<()> {
        match &observation {
            Observation::Stop => return ControlFlow::Break(()),
            Observation::Lost => self.configuration = true,
            Observation::Writing(_) => {}
            Observation::Written(path)
            | Observation::Folder(path)
            | Observation::Gone(path)
            | Observation::Arrived(path) => self.mark(&[path]),
            Observation::Moved(from, to) => self.mark(&[from, to]),
        }
        let root = &self.root;
        let relative = |path: &Path| {
            let inside = path.strip_prefix(root).ok()?;
            (!inside.as_os_str().is_empty()).then(|| inside.to_owned())
        };
        self.gathering.add(observation, monotonic_ms(), relative);
        ControlFlow::Continue(())
    }

    /// Takes note of paths that matter by themselves.
    fn mark(&mut self, paths: &[&PathBuf]) {
        for path in paths {
            let inside = path.strip_prefix(&self.root).ok();
            let is_hooks = inside.is_some_and(|inside| {
                inside == Path::new(FOLDER)
                    || inside.parent() == Some(Path::new(FOLDER)) && inside.ends_with(HOOKS_FILE)
            });
            self.configuration |= is_hooks || self.also.as_ref() == Some(path);
            self.root_is_gone |= **path == self.root && !files::is_dir(&self.root);
        }
    }

    /// A word about folders that are polled, when there are more of them than before.
    fn polling_note(&mut self) -> Option<String> {
        let polled = self.watches.polled().len();
        let before = std::mem::replace(&mut self.polled, polled);
        (polled > before).then(|| {
            format!(
                "polling {polled} folders every second: the limit of file watches is reached; \
                 raise it with `sysctl fs.inotify.max_user_watches=1048576`"
            )
        })
    }
}
