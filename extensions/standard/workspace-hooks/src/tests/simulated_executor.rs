//! The far edge of the engine: attempts that take time, write files, end well or badly, and leave a mark when they end.

use super::disk::{FileAuthor, SimulatedDisk};
use crate::contract::{RunId, Usage};
use crate::run_executor::{RetryAdvice, RunEnd, RunExecutor, RunJob, RunResult, SettledRun};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::ports::Clock;
use dispatch_sim::{SeededRandom, SimClock};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What one attempt does.
#[derive(Clone)]
pub(super) struct SimulatedAttempt {
    pub(super) takes_ms: u64,
    pub(super) writes: Vec<(String, String)>,
    pub(super) end: RunEnd,
    pub(super) usage: Usage,
}

impl SimulatedAttempt {
    pub(super) fn success(takes_ms: u64) -> Self {
        Self { takes_ms, writes: Vec::new(), end: RunEnd::Success, usage: Usage::default() }
    }

    pub(super) fn failure(takes_ms: u64) -> Self {
        Self {
            end: RunEnd::Failed { reason: "exit 1".into(), again: RetryAdvice::Worthwhile },
            ..Self::success(takes_ms)
        }
    }
}

/// Decides what an attempt does.
pub(super) type AttemptScript = Arc<dyn Fn(&RunJob, &SeededRandom) -> SimulatedAttempt + Send + Sync>;

/// An attempt that came to its end, whether or not anybody stored it.
#[derive(Clone, Debug)]
pub(super) struct EndedAttempt {
    pub(super) run: RunId,
    pub(super) hook: String,
    pub(super) path: String,
    pub(super) content: Option<String>,
    pub(super) end: RunEnd,
    pub(super) began_ms: u64,
    pub(super) ended_ms: u64,
}

struct RunningAttemptView {
    process: String,
    hook: String,
    path: String,
}

/// What all processes of a history do to the simulation.
pub(super) struct ExecutorLog {
    pub(super) disk: Arc<SimulatedDisk>,
    pub(super) dead: Arc<Mutex<Vec<String>>>,
    pub(super) ended: Mutex<Vec<EndedAttempt>>,
    pub(super) most_at_once: Mutex<usize>,
    /// Limits that were not kept.
    pub(super) broken: Mutex<Vec<String>>,
    cap: usize,
    present: Mutex<BTreeMap<u64, RunningAttemptView>>,
    observed: Mutex<BTreeMap<RunId, Vec<String>>>,
    marks: Mutex<BTreeMap<(RunId, u32), RunResult>>,
    last: Mutex<u64>,
}

impl ExecutorLog {
    pub(super) fn new(disk: Arc<SimulatedDisk>, dead: Arc<Mutex<Vec<String>>>, cap: usize) -> Self {
        Self {
            disk,
            dead,
            ended: Mutex::default(),
            most_at_once: Mutex::default(),
            broken: Mutex::default(),
            cap,
            present: Mutex::default(),
            observed: Mutex::default(),
            marks: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// Whoever comes in finds every limit kept, among those whose process lives.
    fn enter(self: &Arc<Self>, process: &str, job: &RunJob) -> RunningGuard {
        let hook = job.hook.id.clone();
        let path = job.files.first().map(|file| file.path.clone()).unwrap_or_default();
        let mut present = self.present.lock().unwrap();
        {
            let dead = self.dead.lock().unwrap();
            present.retain(|_, other| !dead.contains(&other.process));
        }
        let same_hook = present.values().filter(|other| other.hook == hook).count();
        let same_key = present.values().any(|other| other.hook == hook && other.path == path && !path.is_empty());
        let broken = [
            (same_hook >= job.hook.concurrency as usize, format!("{hook} runs {same_hook} times already")),
            (present.len() >= self.cap, format!("{} runs go already", present.len())),
            (same_key, format!("{hook} runs on {path} already")),
        ];
        // A panic here would only be the end of the attempt.
        self.broken.lock().unwrap().extend(broken.into_iter().filter(|(broken, _)| *broken).map(|(_, what)| what));
        let mut last = self.last.lock().unwrap();
        *last += 1;
        present.insert(*last, RunningAttemptView { process: process.to_owned(), hook, path });
        let mut most = self.most_at_once.lock().unwrap();
        *most = present.len().max(*most);
        RunningGuard { log: Arc::clone(self), number: *last }
    }
}

struct RunningGuard {
    log: Arc<ExecutorLog>,
    number: u64,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.log.present.lock().unwrap().remove(&self.number);
    }
}

/// The executor of one process.
pub(super) struct SimulatedExecutor {
    pub(super) log: Arc<ExecutorLog>,
    pub(super) clock: SimClock,
    pub(super) random: Arc<SeededRandom>,
    pub(super) process: String,
    pub(super) script: AttemptScript,
}

impl SimulatedExecutor {
    async fn attempt(&self, job: RunJob) -> RunResult {
        let entered = self.log.enter(&self.process, &job);
        let attempt = (self.script)(&job, &self.random);
        let began_ms = self.clock.now_ms();
        let mut wrote = None;
        let mut left_ms = attempt.takes_ms;
        while left_ms > 0 && !job.cancel.is_cancelled() {
            if wrote.is_none() && left_ms <= attempt.takes_ms / 2 {
                wrote = Some(self.write(&job.run, &attempt));
            }
            self.clock.sleep_ms(left_ms.min(10)).await;
            left_ms = left_ms.saturating_sub(10);
        }
        let end = match job.cancel.is_cancelled() {
            true => RunEnd::Canceled,
            false => {
                wrote.get_or_insert_with(|| self.write(&job.run, &attempt));
                attempt.end
            }
        };
        let result = RunResult {
            end: end.clone(),
            exit_code: Some(i32::from(end != RunEnd::Success)),
            output: format!("{} on attempt {}", job.hook.id, job.attempt),
            wrote: wrote.unwrap_or_default(),
            usage: attempt.usage,
            session: None,
            patch: None,
        };
        let file = job.files.first();
        self.log.ended.lock().unwrap().push(EndedAttempt {
            run: job.run.clone(),
            hook: job.hook.id.clone(),
            path: file.map(|file| file.path.clone()).unwrap_or_default(),
            content: file.and_then(|file| file.content_hash.clone()),
            end,
            began_ms,
            ended_ms: self.clock.now_ms(),
        });
        self.log.marks.lock().unwrap().insert((job.run, job.attempt), result.clone());
        drop(entered);
        result
    }

    /// Whoever watches sees a write before it happens.
    fn write(&self, run: &RunId, attempt: &SimulatedAttempt) -> Vec<String> {
        let paths: Vec<String> = attempt.writes.iter().map(|(path, _)| path.clone()).collect();
        self.log.observed.lock().unwrap().insert(run.clone(), paths.clone());
        for (path, content) in &attempt.writes {
            if self.log.disk.content(path).as_ref() != Some(content) {
                self.log.disk.write(path, content, FileAuthor::Run);
            }
        }
        paths
    }
}

impl RunExecutor for SimulatedExecutor {
    fn execute(&self, job: RunJob) -> BoxFuture<'_, RunResult> {
        Box::pin(self.attempt(job))
    }

    fn settle<'a>(&'a self, run: &'a RunId, attempt: u32) -> BoxFuture<'a, SettledRun> {
        let mark = self.log.marks.lock().unwrap().get(&(run.clone(), attempt)).cloned();
        let settled = mark.map_or(SettledRun::Unfinished, |mark| SettledRun::Ended(Box::new(mark)));
        Box::pin(std::future::ready(settled))
    }

    fn observed(&self, run: &RunId) -> Vec<String> {
        self.log.observed.lock().unwrap().get(run).cloned().unwrap_or_default()
    }

    fn sight(&self) -> crate::run_executor::WriteTracking {
        crate::run_executor::WriteTracking::Observes
    }
}
