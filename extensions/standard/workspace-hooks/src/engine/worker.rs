//! The loop that works off the queue of one workspace.

use super::claim::{ClaimedRuns, ObservedRun, RunClaim, cancel_waiting, claim};
use super::timetables::{DueHook, Timetables};
use super::{Engine, name};
use crate::contract::{Event, FileChange, Hook, HookSet, RunsError, Source, Trigger};
use crate::run_store::{Run, RunStoreError, workspace_key};
use dispatch_contracts::storage::Keys;
use futures_util::StreamExt;
use futures_util::future::select;
use serde_json::{Map, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError};

/// How often the store is looked at while something waits or goes, and while nothing does.
const BUSY_MS: u64 = 250;
const IDLE_MS: u64 = 1_000;
/// How often runs of the dead are looked for, the living say so, and old records are cleared.
const SWEEP_MS: u64 = 1_000;
const BEAT_MS: u64 = 5_000;
const CLEAR_MS: u64 = 10 * 60 * 1000;
/// The most runs of one hook that one look considers.
const MAX_CONSIDERED: u32 = 64;

/// What a worker remembers between rounds.
#[derive(Default)]
struct WorkerTimers {
    timetables: Timetables,
    swept_ms: Option<u64>,
    beaten_ms: Option<u64>,
    cleared_ms: Option<u64>,
}

/// The one worker of a workspace in this process. Dropping it makes room for another.
struct WorkerSlot<'a> {
    engine: &'a Engine,
    workspace: &'a Path,
}

impl<'a> WorkerSlot<'a> {
    fn take(engine: &'a Engine, workspace: &'a Path) -> Result<Self, RunsError> {
        let fresh = engine.working.lock().unwrap_or_else(PoisonError::into_inner).insert(workspace.to_path_buf());
        let taken = || RunsError::Refused("this process works in the workspace already".to_owned());
        fresh.then_some(Self { engine, workspace }).ok_or_else(taken)
    }
}

impl Drop for WorkerSlot<'_> {
    fn drop(&mut self) {
        self.engine.working.lock().unwrap_or_else(PoisonError::into_inner).remove(self.workspace);
    }
}

/// Whether a chore is due; notes that it is done.
fn is_due(last_ms: &mut Option<u64>, every_ms: u64, now_ms: u64) -> bool {
    let due = last_ms.is_none_or(|last_ms| now_ms.saturating_sub(last_ms) >= every_ms);
    if due {
        *last_ms = Some(now_ms);
    }
    due
}

impl Engine {
    /// Works until the program ends.
    pub(crate) async fn work(self: &Arc<Self>, workspace: &Path) -> Result<(), RunsError> {
        let _place = WorkerSlot::take(self, workspace)?;
        let mut woken = self.signal.listen();
        let mut timers = WorkerTimers::default();
        while !self.is_draining() {
            let pause_ms = match self.round(workspace, &mut timers).await {
                Ok(pause_ms) => pause_ms,
                Err(error) => {
                    (self.ports.warn)(format!("the queue cannot be worked off now: {error}"));
                    IDLE_MS
                }
            };
            select(woken.next(), self.ports.clock.sleep_ms(pause_ms)).await;
        }
        Ok(())
    }

    /// Does everything that is due; answers how long nothing is.
    async fn round(self: &Arc<Self>, workspace: &Path, timers: &mut WorkerTimers) -> Result<u64, RunsError> {
        let set = self.ports.hooks.in_force(workspace).await?;
        match self.catch_up(workspace).await {
            // What finds no room now is taken up when there is some.
            Ok(()) | Err(RunsError::Full { .. }) => {}
            Err(error) => (self.ports.warn)(format!("events cannot be read from the ledger: {error}")),
        }
        let mut running = self.store.running(&name(workspace)).await?;
        self.attend(workspace, &running).await?;
        let ticks = self.ports.clock.monotonic_ms();
        if is_due(&mut timers.swept_ms, SWEEP_MS, ticks) {
            self.sweep(workspace, &mut running, &set).await?;
        }
        if is_due(&mut timers.beaten_ms, BEAT_MS, ticks) {
            self.beat().await?;
        }
        if is_due(&mut timers.cleared_ms, CLEAR_MS, ticks) {
            let now_ms = self.now_ms();
            self.store.transact(Keys::Everything, move |tx| tx.clear(now_ms)).await?;
            self.forget_dead().await?;
        }
        self.keep_timetables(workspace, &set, &mut timers.timetables).await;
        let queue = self.claim(workspace, &set, &running).await?;
        let now_ms = self.now_ms();
        let is_active = queue.is_due || !running.is_empty();
        let look_ms = if is_active { BUSY_MS } else { IDLE_MS };
        let next_ms = [queue.next_ms, timers.timetables.next_ms()].into_iter().flatten().min();
        Ok(next_ms.map_or(look_ms, |at_ms| at_ms.saturating_sub(now_ms).clamp(1, look_ms)))
    }

    /// Begins what may begin.
    async fn claim(
        self: &Arc<Self>,
        workspace: &Path,
        set: &Arc<HookSet>,
        running: &[Run],
    ) -> Result<QueueOutlook, RunStoreError> {
        let store_name = name(workspace);
        let mut queue = QueueOutlook { is_due: false, next_ms: None };
        let mut due = Vec::new();
        let hooks: BTreeMap<&str, &Arc<Hook>> = set.hooks.iter().map(|hook| (hook.id.as_str(), hook)).collect();
        for id in self.store.hooks_waiting(&store_name).await? {
            let Some(hook) = hooks.get(id.as_str()).filter(|hook| hook.enabled) else {
                self.retire(&store_name, set, &id).await?;
                continue;
            };
            let going = running.iter().filter(|run| run.key.hook == id).count();
            let free = hook.concurrency.saturating_sub(u32::try_from(going).unwrap_or(u32::MAX));
            if free == 0 {
                continue;
            }
            let now_ms = self.now_ms();
            for run in self.store.heads(&store_name, &id, free.min(MAX_CONSIDERED)).await? {
                if run.not_before_ms <= now_ms {
                    queue.is_due = true;
                    due.push(run);
                } else {
                    queue.next_ms = Some(queue.next_ms.map_or(run.not_before_ms, |at| at.min(run.not_before_ms)));
                }
            }
        }
        if !due.is_empty() && running.len() < set.limits.concurrency as usize && !self.is_draining() {
            self.begin_some(workspace, set, due).await?;
        }
        Ok(queue)
    }

    async fn begin_some(
        self: &Arc<Self>,
        workspace: &Path,
        set: &Arc<HookSet>,
        due: Vec<Run>,
    ) -> Result<(), RunStoreError> {
        let mut names: BTreeMap<u64, Vec<Option<String>>> = BTreeMap::new();
        for run in &due {
            let uncover = |file| self.redaction.uncover(workspace, file);
            names.insert(run.number, run.facts.files.iter().map(uncover).collect());
        }
        let seen = self.look(workspace, &due, &names).await;
        let claiming = RunClaim {
            workspace: name(workspace),
            owner: self.ports.owner.clone(),
            now_ms: self.now_ms(),
            set: Arc::clone(set),
            seen,
        };
        let keys = workspace_key(&claiming.workspace);
        let claimed: ClaimedRuns = self.store.transact(keys, move |tx| claim(tx, claiming)).await?;
        claimed.canceled.iter().for_each(|run| self.tell(run));
        claimed.noted.iter().for_each(|run| self.feed.tell(run));
        for (run, hook) in claimed.begun {
            self.tell(&run);
            let files = run.facts.files.iter().map(|file| FileChange {
                path: self.redaction.uncover(workspace, file).unwrap_or_else(|| file.shown.path.clone()),
                ..file.shown.clone()
            });
            let files = files.collect();
            self.begin(workspace, run, hook, files);
        }
        Ok(())
    }

    /// What the files of runs hold now.
    async fn look(
        &self,
        workspace: &Path,
        due: &[Run],
        names: &BTreeMap<u64, Vec<Option<String>>>,
    ) -> Vec<ObservedRun> {
        let known: Vec<String> = names.values().flatten().flatten().cloned().collect();
        let hashes = self.ports.contents.hashes(workspace, known).await;
        let mut hashes = hashes.into_iter();
        let mut present: BTreeMap<u64, Vec<_>> = BTreeMap::new();
        for (number, names) in names {
            let of = names.iter().map(|name| name.as_ref().and_then(|_| hashes.next().flatten()));
            present.insert(*number, of.collect());
        }
        let seen = |run: &Run| ObservedRun {
            number: run.number,
            version: run.version,
            present: present.remove(&run.number).unwrap_or_default(),
        };
        due.iter().map(seen).collect()
    }

    /// Cancels what waits of a hook that is not in force. A file that cannot be read removes no hook.
    async fn retire(&self, workspace: &str, set: &HookSet, hook: &str) -> Result<(), RunStoreError> {
        if !set.problems.is_empty() {
            return Ok(());
        }
        let dormant = set.dormant.iter().find(|dormant| dormant.hook_id == hook);
        let off = set.hooks.iter().any(|known| known.id == hook);
        let reason = match dormant {
            Some(dormant) => dormant.reason.clone(),
            None if off => "the hook was switched off".to_owned(),
            None => "the hook was removed".to_owned(),
        };
        let (workspace, hook, now_ms) = (workspace.to_owned(), hook.to_owned(), self.now_ms());
        let keys = workspace_key(&workspace);
        let canceled =
            self.store.transact(keys, move |tx| cancel_waiting(tx, &workspace, &hook, &reason, now_ms)).await?;
        canceled.iter().for_each(|run| self.tell(run));
        Ok(())
    }

    /// Starts scheduled hooks. Several processes may: the event of a time has one name.
    async fn keep_timetables(&self, workspace: &Path, set: &HookSet, tables: &mut Timetables) {
        let come = tables.come(set, self.now_ms(), &self.ports.next_after);
        for DueHook { hook, at_ms } in &come.missed {
            let said = format!("hook `{}` was due at {at_ms} while nothing ran; that time is not made up for", hook.id);
            (self.ports.warn)(said);
        }
        for due in &come.due {
            let event = Event {
                trigger: Trigger::Schedule,
                workspace: workspace.to_path_buf(),
                files: Vec::new(),
                source: Source::Schedule,
                hook: Some(due.hook.id.clone()),
                id: Some(format!("schedule:{}:{}", due.hook.id, due.at_ms)),
                metadata: Map::from_iter([("dueMs".to_owned(), json!(due.at_ms))]),
            };
            match self.queue(&event, set, &[(Arc::clone(&due.hook), Vec::new())]).await {
                Ok(_) => tables.done(due, &self.ports.next_after),
                Err(error) => (self.ports.warn)(format!("hook `{}` could not be started: {error}", due.hook.id)),
            }
        }
    }
}

/// What was seen of the queue.
struct QueueOutlook {
    /// Whether a run is due.
    is_due: bool,
    /// When the next waiting run is due.
    next_ms: Option<u64>,
}
