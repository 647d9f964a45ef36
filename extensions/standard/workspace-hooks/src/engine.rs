//! Runs what events ask for: decisions are functions of small values, the book stores them, a loop per workspace works.

pub(crate) mod arrival;
pub(crate) mod choice;
pub(crate) mod claim;
pub(crate) mod discretion;
pub(crate) mod ending;
pub(crate) mod finish;
pub(crate) mod guard;
pub(crate) mod intake;
pub(crate) mod pace;
mod perform;
pub(crate) mod submit;
mod sweep;
pub(crate) mod timetables;
mod worker;

use crate::book::{Book, Run, step_with};
use crate::contract::{ContentHash, Event, HookSet, Receipt, RunId, RunsError, Source};
use crate::matching::StartedHook;
use crate::performer::Performer;
use crate::run_feed::RunFeed;
use discretion::{Discretion, digest};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_contracts::storage::Durability;
use ending::Halt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use submit::{Submission, Wanted, submit};
use timetables::NextAfter;

pub(crate) use dispatch_os::owner::Standing;

/// The hooks of a workspace, read anew when their files have changed. Asked at each event and each claim.
pub(crate) trait HookSource: Send + Sync {
    fn in_force<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Arc<HookSet>, RunsError>>;
    /// Which of them an event starts, and with which files.
    fn matching(&self, set: &Arc<HookSet>, event: &Event) -> Vec<StartedHook>;
}

/// What files hold.
pub(crate) trait Contents: Send + Sync {
    /// The content of each file, named relative to the workspace; none for one that is gone.
    fn hashes<'a>(&'a self, workspace: &'a Path, paths: Vec<String>) -> BoxFuture<'a, Vec<Option<ContentHash>>>;
}

/// Tells the living from the dead.
pub(crate) trait Census: Send + Sync {
    fn standing(&self, owner: &str) -> Standing;
    /// Removes the traces of the dead, but not of those who hold runs.
    fn forget_dead(&self, _holders: &[String]) {}
}

/// Somebody who wants to know what becomes of runs: the log file, the log of the program.
pub(crate) type Chronicle = Arc<dyn Fn(&Run) + Send + Sync>;

/// What the engine needs of the world.
pub(crate) struct Means {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) spawn: Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>,
    pub(crate) warn: Arc<dyn Fn(String) + Send + Sync>,
    pub(crate) chronicle: Chronicle,
    pub(crate) census: Arc<dyn Census>,
    pub(crate) owner: String,
    pub(crate) hooks: Arc<dyn HookSource>,
    pub(crate) contents: Arc<dyn Contents>,
    pub(crate) next_after: NextAfter,
    pub(crate) performer: Arc<dyn Performer>,
}

/// A run of this process that goes.
struct Going {
    number: u64,
    attempt: u32,
    workspace: PathBuf,
    cancel: CancelToken,
    halt: Halt,
    /// The files that the book knows it to write, by digest.
    noted: BTreeSet<String>,
}

/// The engine of one process.
pub(crate) struct Engine {
    pub(crate) book: Arc<dyn Book>,
    pub(crate) feed: RunFeed,
    pub(crate) means: Means,
    pub(crate) discretion: Discretion,
    going: Mutex<BTreeMap<RunId, Going>>,
    working: Mutex<BTreeSet<PathBuf>>,
    draining: AtomicBool,
}

/// How long running attempts may take to end by themselves when the program stops, and again once they are told.
const DRAIN_MS: u64 = 3_000;
const DRAIN_LOOK_MS: u64 = 10;

impl Engine {
    pub(crate) fn new(book: Arc<dyn Book>, means: Means, discretion: Discretion) -> Arc<Self> {
        Arc::new(Self {
            book,
            feed: RunFeed::default(),
            means,
            discretion,
            going: Mutex::default(),
            working: Mutex::default(),
            draining: AtomicBool::new(false),
        })
    }

    fn going(&self) -> MutexGuard<'_, BTreeMap<RunId, Going>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.means.clock.now_ms()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Tells a step of a run.
    pub(crate) fn tell(&self, run: &Run) {
        (self.means.chronicle)(run);
        self.feed.tell(run);
    }

    /// Takes an event in.
    pub(crate) async fn take_in(&self, event: &Event) -> Result<Vec<Receipt>, RunsError> {
        if self.is_draining() {
            return Err(RunsError::Refused("the program is about to end".to_owned()));
        }
        let set = self.means.hooks.in_force(&event.workspace).await?;
        let started = self.means.hooks.matching(&set, event);
        self.queue(event, &set, &started).await
    }

    /// Takes in what an event wants of these hooks.
    async fn queue(&self, event: &Event, set: &HookSet, started: &[StartedHook]) -> Result<Vec<Receipt>, RunsError> {
        let ids = self.means.ids.as_ref();
        let wanted: Vec<Wanted> = started
            .iter()
            .flat_map(|(hook, files)| intake::wanted(hook, files, event, &self.discretion, ids))
            .collect();
        self.store(event, set, wanted).await
    }

    /// Stores what is wanted, and wakes whoever works.
    pub(crate) async fn store(
        &self,
        event: &Event,
        set: &HookSet,
        wanted: Vec<Wanted>,
    ) -> Result<Vec<Receipt>, RunsError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let submission = Submission {
            workspace: name(&event.workspace),
            trigger: event.trigger.to_string(),
            source: event.source,
            event: event.id.as_deref().map(digest),
            wanted,
            now_ms: self.now_ms(),
            queued_limit: set.limits.queued,
            seen: self.observed(&event.workspace),
            sight: self.means.performer.sight(),
        };
        let durability = durability(event.source);
        let submitted = step_with(self.book.as_ref(), durability, move |shelf| submit(shelf, submission)).await?;
        submitted.queued.iter().for_each(|run| self.tell(run));
        submitted.joined.iter().for_each(|run| self.feed.tell(run));
        self.feed.ring();
        Ok(submitted.receipts)
    }

    /// Files that runs of this process were seen to write and still may, by digest.
    fn observed(&self, workspace: &Path) -> BTreeSet<String> {
        let going: Vec<RunId> =
            self.going().iter().filter(|(_, going)| going.workspace == workspace).map(|(id, _)| id.clone()).collect();
        going.iter().flat_map(|id| self.means.performer.observed(id)).map(|path| digest(&path)).collect()
    }

    /// Stops a run of this process.
    pub(crate) fn stop(&self, id: &RunId) {
        if let Some(going) = self.going().get_mut(id) {
            going.halt = Halt::Person;
            going.cancel.cancel();
        }
    }

    /// Claims nothing more; what goes gets a moment, then it is stopped and waits again.
    pub(crate) async fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.feed.ring();
        for halt in [Halt::None, Halt::Drain] {
            let deadline = self.means.clock.monotonic_ms().saturating_add(DRAIN_MS);
            for going in self.going().values_mut().filter(|_| halt == Halt::Drain) {
                if going.halt == Halt::None {
                    going.halt = Halt::Drain;
                }
                going.cancel.cancel();
            }
            while !self.going().is_empty() && self.means.clock.monotonic_ms() < deadline {
                self.means.clock.sleep_ms(DRAIN_LOOK_MS).await;
            }
        }
    }
}

/// What is seen in a file can be seen there again, and the file itself may not be on the disk yet.
fn durability(source: Source) -> Durability {
    match source {
        Source::Watcher | Source::Editor => Durability::Process,
        _ => Durability::Disk,
    }
}

/// A workspace as the book names it.
pub(crate) fn name(workspace: &Path) -> String {
    workspace.display().to_string()
}
