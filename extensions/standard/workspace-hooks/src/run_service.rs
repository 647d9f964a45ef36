//! The runs of hooks as a service: takes events in, answers what became of them, lets runs be watched.

use crate::contract::{
    CustomEvent, Event, ExecutionRecord, Hook, HookSet, Metrics, Receipt, RunId, RunQuery, Runs, RunsError, SendError,
    SentEvent, Source, Status,
};
use crate::engine::arrival::sameness;
use crate::engine::attempt_output::with_attempt;
use crate::engine::ending::AttemptStop;
use crate::engine::finish::{mark_applied, take_back};
use crate::engine::pace::day_start_ms;
use crate::engine::submit::{RunOptions, WantedRun};
use crate::engine::{Engine, name};
use crate::run_feed::{LOOK_MS, follow};
use crate::run_store::{Run, workspace_key};
use dispatch_contracts::{BoxFuture, BoxStream};
use futures_util::StreamExt;
use futures_util::future::select;
use serde_json::Map;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many runs are listed by default, and at most.
const LISTED: u32 = 100;
const MAX_LISTED: u32 = 10_000;
/// How many runs are looked at a time for a text.
const SEARCH_PAGE: u32 = 500;

/// The runs of all workspaces, for triggers, commands and clients.
pub(crate) struct RunService {
    pub(crate) engine: Arc<Engine>,
}

impl RunService {
    async fn find(&self, id: &str) -> Result<Run, RunsError> {
        let mut found = self.engine.store.named(id).await?;
        match (found.pop(), found.is_empty()) {
            (Some(run), true) => Ok(run),
            (Some(_), false) => Err(RunsError::Refused(format!("several runs begin with `{id}`"))),
            (None, _) => Err(RunsError::Unknown { what: "run", name: id.to_owned() }),
        }
    }

    async fn record(&self, run: &Run) -> Result<ExecutionRecord, RunsError> {
        if run.status == Status::Running {
            let earlier = self.engine.store.output(run.number).await?;
            let live = self.engine.ports.executor.live(&run.id, run.attempts);
            let live = live.filter(|live| !live.is_empty());
            let so_far = live.map(|live| with_attempt(earlier.as_deref(), run.attempts, &live));
            return Ok(run.record(so_far.or(earlier)));
        }
        Ok(run.record(self.engine.store.output(run.number).await?))
    }

    async fn until_over(&self, id: &RunId) -> Result<ExecutionRecord, RunsError> {
        let mut changes = self.engine.signal.listen();
        loop {
            let run = self.find(&id.0).await?;
            if run.status.is_over() {
                return self.record(&run).await;
            }
            select(changes.next(), self.engine.ports.clock.sleep_ms(LOOK_MS)).await;
        }
    }

    async fn until_idle(&self, workspace: &Path) -> Result<(), RunsError> {
        let mut changes = self.engine.signal.listen();
        while self.engine.store.is_busy(&name(workspace)).await? {
            select(changes.next(), self.engine.ports.clock.sleep_ms(LOOK_MS)).await;
        }
        Ok(())
    }

    async fn search(&self, query: &RunQuery) -> Result<Vec<ExecutionRecord>, RunsError> {
        let limit = query.limit.unwrap_or(LISTED).min(MAX_LISTED);
        let Some(text) = &query.text else {
            let runs = self.engine.store.list(query, None, limit).await?;
            return Ok(runs.iter().map(|run| run.record(None)).collect());
        };
        let text = text.to_lowercase();
        let (mut found, mut before) = (Vec::new(), None);
        while found.len() < limit as usize {
            let page = self.engine.store.list(query, before, SEARCH_PAGE).await?;
            let Some(last) = page.last() else { break };
            before = Some(last.number);
            for run in page {
                let record = self.record(&run).await?;
                if says(&record, &text) && found.len() < limit as usize {
                    found.push(ExecutionRecord { logs: None, ..record });
                }
            }
        }
        Ok(found)
    }

    async fn take_back(&self, id: &RunId) -> Result<ExecutionRecord, RunsError> {
        let known = self.find(&id.0).await?;
        let (id, keys) = (known.id, workspace_key(&known.key.workspace));
        let (wanted, now_ms) = (id.clone(), self.engine.now_ms());
        let run = self.engine.store.transact(keys, move |tx| take_back(tx, &wanted, now_ms)).await?;
        self.engine.stop(&id, AttemptStop::Person);
        if run.status.is_over() {
            self.engine.tell(&run);
        } else {
            self.engine.feed.tell(&run);
        }
        self.engine.signal.wake();
        self.record(&run).await
    }

    async fn again(&self, id: &RunId) -> Result<RunId, RunsError> {
        let run = self.find(&id.0).await?;
        let workspace = PathBuf::from(&run.key.workspace);
        let set = self.engine.ports.hooks.in_force(&workspace).await?;
        let hook = hook_of(&set, &run)?;
        let event = Event {
            trigger: hook.trigger.clone(),
            workspace,
            files: Vec::new(),
            source: Source::Person,
            hook: Some(hook.id.clone()),
            id: None,
            metadata: Map::new(),
        };
        let receipts = self.engine.queue_runs(&event, &set, vec![self.repetition(&run, hook)]).await?;
        let started = receipts.into_iter().find_map(|receipt| receipt.run);
        started.ok_or_else(|| RunsError::Refused("the run was not repeated".to_owned()))
    }

    /// The same run once more, with the hook as it is now.
    fn repetition(&self, run: &Run, hook: &Hook) -> WantedRun {
        let id = RunId(self.engine.ports.ids.next_id());
        let of_a_file = run.key.is_of_a_file() && hook.trigger.is_of_files();
        WantedRun {
            hook: hook.id.clone(),
            subject: if of_a_file { run.key.subject.clone() } else { format!("#{id}") },
            id,
            files: run.facts.files.clone(),
            metadata: run.facts.metadata.clone(),
            content: run.content.clone(),
            sameness: sameness(&hook.trigger),
            debounce_ms: 0,
            paths: Vec::new(),
            options: RunOptions::default(),
            retry_of: Some(run.id.clone()),
        }
    }

    async fn tally(&self, workspace: &Path) -> Result<Metrics, RunsError> {
        let from_ms = day_start_ms(self.engine.now_ms());
        let tally = self.engine.store.tally(&name(workspace), from_ms).await?;
        let count = tally.latencies_ms.len() as u64;
        Ok(Metrics {
            active_executions: tally.running,
            queue_length: tally.waiting,
            average_latency_ms: tally.latencies_ms.iter().sum::<u64>().checked_div(count).unwrap_or_default(),
            succeeded: tally.succeeded,
            failed: tally.failed,
        })
    }
}

fn hook_of<'a>(set: &'a HookSet, run: &Run) -> Result<&'a Arc<Hook>, RunsError> {
    let id = &run.key.hook;
    if let Some(dormant) = set.dormant.iter().find(|dormant| dormant.hook_id == *id) {
        return Err(RunsError::Refused(format!("hook `{id}` does not run: {}", dormant.reason)));
    }
    let hook = set.hooks.iter().find(|hook| hook.id == *id);
    hook.ok_or_else(|| RunsError::Unknown { what: "hook", name: id.clone() })
}

/// Whether a text is in what people see of a run.
fn says(record: &ExecutionRecord, text: &str) -> bool {
    let has = |place: &str| place.to_lowercase().contains(text);
    has(&record.hook_id)
        || has(&record.reason)
        || record.logs.as_deref().is_some_and(has)
        || record.files.iter().any(|file| has(&file.path))
        || record.wrote.iter().any(|path| has(path))
}

impl Runs for RunService {
    fn refresh<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<HookSet, RunsError>> {
        Box::pin(async move {
            let set = self.engine.ports.hooks.in_force(workspace).await?;
            Ok(HookSet::clone(&set))
        })
    }

    fn submit(&self, event: Event) -> BoxFuture<'_, Result<Vec<Receipt>, RunsError>> {
        Box::pin(async move { self.engine.take_in(&event).await })
    }

    fn send<'a>(
        &'a self,
        sent: CustomEvent,
        workspace: &'a Path,
        base: &'a Path,
        from: &'a str,
    ) -> BoxFuture<'a, Result<SentEvent, SendError>> {
        Box::pin(self.engine.send(sent, workspace, base, from))
    }

    fn catch_up<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<bool, RunsError>> {
        Box::pin(async move {
            self.engine.catch_up(workspace).await?;
            self.engine.is_busy(workspace).await
        })
    }

    fn work<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<(), RunsError>> {
        Box::pin(self.engine.work(workspace))
    }

    fn idle<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<(), RunsError>> {
        Box::pin(self.until_idle(workspace))
    }

    fn run<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>> {
        Box::pin(async move { self.record(&self.find(id).await?).await })
    }

    fn list(&self, query: RunQuery) -> BoxFuture<'_, Result<Vec<ExecutionRecord>, RunsError>> {
        Box::pin(async move { self.search(&query).await })
    }

    fn wait<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>> {
        Box::pin(self.until_over(id))
    }

    fn cancel<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>> {
        Box::pin(self.take_back(id))
    }

    fn retry<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<RunId, RunsError>> {
        Box::pin(self.again(id))
    }

    fn news<'a>(
        &'a self,
        workspace: &'a Path,
    ) -> BoxFuture<'a, Result<BoxStream<'static, ExecutionRecord>, RunsError>> {
        let (store, clock) = (Arc::clone(&self.engine.store), Arc::clone(&self.engine.ports.clock));
        Box::pin(follow(store, clock, &self.engine.feed, name(workspace)))
    }

    fn metrics<'a>(&'a self, workspace: &'a Path) -> BoxFuture<'a, Result<Metrics, RunsError>> {
        Box::pin(self.tally(workspace))
    }

    fn patch<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<Option<PathBuf>, RunsError>> {
        Box::pin(async move { Ok(self.find(&id.0).await?.facts.patch.map(PathBuf::from)) })
    }

    fn patch_applied<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<ExecutionRecord, RunsError>> {
        Box::pin(async move {
            let found = self.find(&id.0).await?;
            let (keys, id) = (workspace_key(&found.key.workspace), found.id);
            let run = self.engine.store.transact(keys, move |tx| mark_applied(tx, &id)).await?;
            self.engine.feed.tell(&run);
            self.record(&run).await
        })
    }

    fn drain(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.engine.drain())
    }
}
