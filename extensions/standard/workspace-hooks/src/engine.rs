//! Runs what events ask for: decisions are functions of small values, the store stores them, a loop per workspace works.

pub(crate) mod arrival;
pub(crate) mod attempt_output;
pub(crate) mod choice;
pub(crate) mod claim;
pub(crate) mod ending;
mod execute;
mod file_origins;
pub(crate) mod finish;
pub(crate) mod guard;
pub(crate) mod intake;
mod ledger_events;
pub(crate) mod pace;
pub(crate) mod redaction_policy;
pub(crate) mod submit;
mod sweep;
pub(crate) mod timetables;
mod worker;

use crate::contract::{ContentHash, Event, HookSet, Receipt, RunId, RunsError, Source};
use crate::matching::StartedHook;
use crate::run_executor::RunExecutor;
use crate::run_feed::RunFeed;
use crate::run_store::{Run, RunStore, workspace_key};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::cancel::CancelToken;
use dispatch_contracts::ports::{Clock, Ids};
use dispatch_contracts::storage::Durability;
use dispatch_durable_queue::{OwnerLiveness, WakeSignal};
use ending::AttemptStop;
use ext_event_ledger::contract::EventLedger;
use redaction_policy::{RedactionPolicy, digest};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use submit::{EventSubmission, SubmittedRuns, WantedRun, submit};
use timetables::NextAfter;

/// The hooks of a workspace, read anew when their files have changed. Asked at each event and each claim.
pub(crate) trait HookSource: Send + Sync {
    fn in_force<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Arc<HookSet>, RunsError>>;
    /// Which of them an event starts, and with which files.
    fn matching(&self, set: &Arc<HookSet>, event: &Event) -> Vec<StartedHook>;
}

/// What files hold.
pub(crate) trait FileHashes: Send + Sync {
    /// The content of each file, named relative to the workspace; none for one that is gone.
    fn hashes<'a>(&'a self, workspace: &'a Path, paths: Vec<String>) -> BoxFuture<'a, Vec<Option<ContentHash>>>;
}

/// Somebody who wants to know what becomes of runs: the log file, the log of the program.
pub(crate) type RunObserver = Arc<dyn Fn(&Run) + Send + Sync>;

/// What the engine needs from outside.
pub(crate) struct EnginePorts {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) spawn: Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>,
    pub(crate) warn: Arc<dyn Fn(String) + Send + Sync>,
    pub(crate) observer: RunObserver,
    pub(crate) liveness: Arc<dyn OwnerLiveness>,
    pub(crate) owner: String,
    pub(crate) hooks: Arc<dyn HookSource>,
    pub(crate) contents: Arc<dyn FileHashes>,
    pub(crate) next_after: NextAfter,
    pub(crate) executor: Arc<dyn RunExecutor>,
    /// Where custom events come from.
    pub(crate) ledger: Option<Arc<dyn EventLedger>>,
}

/// A run of this process that goes.
struct RunningAttempt {
    number: u64,
    attempt: u32,
    workspace: PathBuf,
    cancel: CancelToken,
    halt: AttemptStop,
    /// The files that the store knows it to write, by digest.
    noted: BTreeSet<String>,
}

/// The engine of one process.
pub(crate) struct Engine {
    pub(crate) store: Arc<RunStore>,
    pub(crate) feed: RunFeed,
    pub(crate) signal: WakeSignal,
    pub(crate) ports: EnginePorts,
    pub(crate) redaction: RedactionPolicy,
    going: Mutex<BTreeMap<RunId, RunningAttempt>>,
    working: Mutex<BTreeSet<PathBuf>>,
    /// Up to which event this process has looked through the ledger for a workspace.
    looked: Mutex<BTreeMap<PathBuf, u64>>,
    draining: AtomicBool,
}

impl Engine {
    pub(crate) fn new(store: Arc<RunStore>, ports: EnginePorts, redaction: RedactionPolicy) -> Arc<Self> {
        Arc::new(Self {
            store,
            feed: RunFeed::default(),
            signal: WakeSignal::default(),
            ports,
            redaction,
            going: Mutex::default(),
            working: Mutex::default(),
            looked: Mutex::default(),
            draining: AtomicBool::new(false),
        })
    }

    fn going(&self) -> MutexGuard<'_, BTreeMap<RunId, RunningAttempt>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.ports.clock.now_ms()
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Tells a step of a run.
    pub(crate) fn tell(&self, run: &Run) {
        (self.ports.observer)(run);
        self.feed.tell(run);
    }

    /// Takes an event in.
    pub(crate) async fn take_in(&self, event: &Event) -> Result<Vec<Receipt>, RunsError> {
        if self.is_draining() {
            return Err(RunsError::Refused("the program is about to end".to_owned()));
        }
        let set = self.ports.hooks.in_force(&event.workspace).await?;
        let started = self.ports.hooks.matching(&set, event);
        self.queue(event, &set, &started).await
    }

    /// Takes in what an event wants of these hooks.
    async fn queue(&self, event: &Event, set: &HookSet, started: &[StartedHook]) -> Result<Vec<Receipt>, RunsError> {
        let ids = self.ports.ids.as_ref();
        let wanted: Vec<WantedRun> =
            started.iter().flat_map(|(hook, files)| intake::wanted(hook, files, event, &self.redaction, ids)).collect();
        self.queue_runs(event, set, wanted).await
    }

    /// Stores what is wanted, and wakes whoever works.
    pub(crate) async fn queue_runs(
        &self,
        event: &Event,
        set: &HookSet,
        wanted: Vec<WantedRun>,
    ) -> Result<Vec<Receipt>, RunsError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let submission = EventSubmission {
            workspace: name(&event.workspace),
            trigger: event.trigger.to_string(),
            source: event.source,
            event: event.id.as_deref().map(digest),
            wanted,
            now_ms: self.now_ms(),
            queued_limit: set.limits.queued,
            seen: self.observed(&event.workspace),
            sight: self.ports.executor.sight(),
        };
        let (keys, durability) = (workspace_key(&submission.workspace), durability(event.source));
        let submitted = self.store.transact_with(keys, durability, move |tx| submit(tx, submission)).await?;
        self.announce(&submitted);
        Ok(submitted.receipts)
    }

    /// Tells what became of an event, and wakes whoever works.
    fn announce(&self, submitted: &SubmittedRuns) {
        submitted.queued.iter().for_each(|run| self.tell(run));
        submitted.joined.iter().for_each(|run| self.feed.tell(run));
        submitted.superseded.iter().for_each(|run| self.stop(&run.id, AttemptStop::Restart));
        self.signal.wake();
    }

    /// Files that runs of this process were seen to write and still may, by digest.
    fn observed(&self, workspace: &Path) -> BTreeSet<String> {
        let going: Vec<RunId> =
            self.going().iter().filter(|(_, going)| going.workspace == workspace).map(|(id, _)| id.clone()).collect();
        going.iter().flat_map(|id| self.ports.executor.observed(id)).map(|path| digest(&path)).collect()
    }

    /// Stops a run of this process.
    pub(crate) fn stop(&self, id: &RunId, halt: AttemptStop) {
        if let Some(going) = self.going().get_mut(id) {
            going.halt = halt;
            going.cancel.cancel();
        }
    }

    /// Claims nothing more; what goes gets a moment, then it is stopped and waits again.
    pub(crate) async fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.signal.wake();
        let stop = || {
            for attempt in self.going().values_mut() {
                if attempt.halt == AttemptStop::None {
                    attempt.halt = AttemptStop::Drain;
                }
                attempt.cancel.cancel();
            }
        };
        dispatch_durable_queue::drain(self.ports.clock.as_ref(), || self.going().is_empty(), stop).await;
    }
}

/// What is seen in a file can be seen there again, and the file itself may not be on the disk yet.
fn durability(source: Source) -> Durability {
    match source {
        Source::Watcher | Source::Editor => Durability::Process,
        _ => Durability::Disk,
    }
}

/// A workspace as the store names it.
pub(crate) fn name(workspace: &Path) -> String {
    workspace.display().to_string()
}
