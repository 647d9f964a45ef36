//! Runs one hook for one event in a script worker, and answers what it asks meanwhile.

use crate::hook_files::{HookFile, HookImports};
use crate::hook_workers::{HookDelay, HookWorkers, Lane, LentWorker};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::folders::Folders;
use dispatch_contracts::ports::Clock;
use dispatch_os::threads::KeptThreads;
use dispatch_script::{
    Action, Callee, ErrorKind, HostFunctions, Limits, LogLevel, LogSink, Port, Request, ScriptError, SentImport,
    Source, Supervisor,
};
use ext_event_ledger::contract::Event;
use futures_channel::mpsc::{UnboundedSender, unbounded};
use futures_channel::oneshot::{self, Canceled};
use futures_util::future::{Either, select};
use futures_util::{FutureExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What every hook is seen through.
const ENTRY: &str = include_str!("route_entry.mjs");
/// The name of that, beside the hook.
const ENTRY_NAME: &str = "route-entry.mjs";
/// How long a hook may take to be loaded for the first look at it.
const LOAD_MS: u64 = 10_000;
/// How long the answer to a question of a hook may take.
const ANSWER: Duration = Duration::from_secs(10);
/// Others need not wait for the worker of a hook that takes longer than this: there is another.
const LATE_MS: u64 = 5;
/// A hook that takes so much longer still runs apart from others until it is known better.
const LONG_MS: u64 = 45;
/// The most lines of a hook's console that are kept.
const MAX_LOG_LINES: usize = 100;

/// Why a hook did not return a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookFailure {
    /// It threw, could not be loaded, or used too much.
    Failed(String),
    /// It did not return in time.
    TimedOut(String),
    /// No worker could be had: nothing is known of the hook.
    NoWorker(String),
}

/// What came of running a hook.
#[derive(Clone, Debug)]
pub(crate) struct Evaluation {
    pub(crate) returned: Result<Value, HookFailure>,
    pub(crate) ms: u64,
    pub(crate) log: Vec<String>,
}

/// What a hook says about itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HookMeta {
    pub(crate) id: Option<String>,
    pub(crate) priority: i64,
    /// The channels whose events it sees; all if it names none.
    pub(crate) channels: Option<Vec<String>>,
}

impl HookMeta {
    /// Whether the hook looks at events of a channel.
    pub(crate) fn sees(&self, channel: &str) -> bool {
        self.channels.as_ref().is_none_or(|channels| channels.iter().any(|known| known == channel))
    }
}

/// What a hook may ask; all of it only reads.
pub(crate) trait HookQuestions: Send + Sync {
    /// The answer to a question with its argument.
    fn answer<'a>(&'a self, question: &'a str, argument: &'a Value) -> BoxFuture<'a, Result<Value, String>>;
}

/// Runs hooks: what they say about themselves, and what they return for an event.
pub(crate) trait HookRunning: Send + Sync {
    /// How long loading a hook and asking it may take.
    fn longest_ms(&self) -> u64;
    /// What a hook says about itself.
    fn meta<'a>(&'a self, file: &'a HookFile) -> BoxFuture<'a, Result<HookMeta, HookFailure>>;
    /// What a hook returns for an event.
    fn evaluate<'a>(
        &'a self,
        file: &'a HookFile,
        event: &'a Event,
        is_owner: bool,
        questions: Arc<dyn HookQuestions>,
    ) -> BoxFuture<'a, Evaluation>;
}

/// Runs hooks in script workers.
pub(crate) struct HookRunner {
    pub(crate) workers: HookWorkers,
    pub(crate) clock: Arc<dyn Clock>,
    /// Those that wait for workers.
    pub(crate) threads: KeptThreads,
    pub(crate) folders: Folders,
    pub(crate) timeout_ms: u64,
}

impl HookRunning for HookRunner {
    fn longest_ms(&self) -> u64 {
        LOAD_MS + 2 * self.timeout_ms
    }

    fn meta<'a>(&'a self, file: &'a HookFile) -> BoxFuture<'a, Result<HookMeta, HookFailure>> {
        Box::pin(async move {
            let request = request(file, Action::Exports, LOAD_MS, 0);
            let (value, _) = self.run(file, request, None).await;
            let hook = value?.get("hook").cloned().unwrap_or_default();
            serde_json::from_value(hook).map_err(|error| HookFailure::Failed(format!("`export const hook`: {error}")))
        })
    }

    fn evaluate<'a>(
        &'a self,
        file: &'a HookFile,
        event: &'a Event,
        is_owner: bool,
        questions: Arc<dyn HookQuestions>,
    ) -> BoxFuture<'a, Evaluation> {
        Box::pin(async move {
            let given = json!({ "now": event.received_at, "isOwner": is_owner });
            let event_json = serde_json::to_value(event).unwrap_or_default();
            let call = Action::Call(Callee::export("default"), vec![event_json, given]);
            let request = request(file, call, self.timeout_ms, event.received_at);
            let started = self.clock.monotonic_ms();
            let (returned, log) = self.run(file, request, Some(questions)).await;
            self.workers.note_end(&file.version, matches!(returned, Err(HookFailure::TimedOut(_))));
            Evaluation { returned, ms: self.clock.monotonic_ms().saturating_sub(started), log }
        })
    }
}

impl HookRunner {
    async fn run(
        &self,
        file: &HookFile,
        request: Request,
        questions: Option<Arc<dyn HookQuestions>>,
    ) -> (Result<Value, HookFailure>, Vec<String>) {
        let worker = match self.worker(&file.version).await {
            Ok(worker) => worker,
            Err(failure) => return (Err(failure), Vec::new()),
        };
        let lines = Arc::new(HookLog::default());
        let running = self.converse(worker.supervisor(), file, request, questions, &lines).boxed();
        let returned = match select(running, self.clock.sleep_ms(LATE_MS)).await {
            Either::Left((returned, _)) => returned,
            Either::Right(((), running)) => {
                worker.note_late();
                match select(running, self.clock.sleep_ms(LONG_MS)).await {
                    Either::Left((returned, _)) => returned,
                    Either::Right(((), running)) => {
                        self.workers.note_long(&file.version);
                        running.await
                    }
                }
            }
        };
        (returned, lines.take())
    }

    /// A worker for a version of a hook. One that runs for long just now waits in a line of its own; if it hung before,
    /// its time runs meanwhile: it holds up no event longer than its deadline.
    async fn worker(&self, version: &str) -> Result<LentWorker<'_>, HookFailure> {
        let gone = || HookFailure::NoWorker("no worker is left".to_owned());
        if self.workers.lane(version) == Lane::Usual {
            let worker = self.workers.pool(Lane::Usual).take().await.ok_or_else(gone)?;
            // While it waited here, the same hook may have taken long for another event.
            if self.workers.lane(version) == Lane::Usual {
                return Ok(worker);
            }
        }
        let mut taking = self.workers.pool(Lane::Slow).take().boxed();
        loop {
            match select(taking, self.clock.sleep_ms(self.timeout_ms)).await {
                Either::Left((worker, _)) => return worker.ok_or_else(gone),
                Either::Right(_) if self.workers.delay(version) == Some(HookDelay::Hung) => {
                    return Err(self.timed_out());
                }
                // It is only slow: it waits until it can run.
                Either::Right(((), waiting)) => taking = waiting,
            }
        }
    }

    fn timed_out(&self) -> HookFailure {
        HookFailure::TimedOut(format!("timed out after {} ms (`hook_timeout_ms`)", self.timeout_ms))
    }

    /// Runs the request on a thread of its own and answers its questions here.
    async fn converse(
        &self,
        worker: &Arc<Supervisor>,
        file: &HookFile,
        request: Request,
        questions: Option<Arc<dyn HookQuestions>>,
        lines: &Arc<HookLog>,
    ) -> Result<Value, HookFailure> {
        let (ask, mut asked) = unbounded::<HookQuestion>();
        let host = HostFunctions::new().with("ask", move |arguments| put(&ask, arguments));
        let (worker, lines) = (Arc::clone(worker), Arc::clone(lines));
        let imports = HookImports::new(file.clone(), Some(&self.folders));
        let (end, mut running) = oneshot::channel();
        let run = move || {
            let port =
                Port { host: Some(&host), log: Some(lines.as_ref()), sources: Some(&imports), ..Port::default() };
            // Whoever asked may be gone, and with it the event that it was about.
            _ = end.send(worker.run(&request, &port));
        };
        self.threads.run(run).map_err(|error| HookFailure::NoWorker(error.to_string()))?;
        loop {
            match select(running, asked.next()).await {
                Either::Left((returned, _)) => return self.returned(returned),
                Either::Right((Some(HookQuestion { question, argument, answer }), still)) => {
                    let said = match &questions {
                        Some(questions) => questions.answer(&question, &argument).await,
                        None => Err("a hook can ask only while it looks at an event".to_owned()),
                    };
                    // A hook that was stopped meanwhile hears no answer.
                    let _ = answer.send(said);
                    running = still;
                }
                Either::Right((None, still)) => return self.returned(still.await),
            }
        }
    }

    /// What a worker answered; nothing if the thread that waited for it broke off.
    fn returned(&self, ended: Result<Result<Value, ScriptError>, Canceled>) -> Result<Value, HookFailure> {
        match ended {
            Ok(returned) => returned.map_err(|error| self.failure(&error)),
            Err(Canceled) => Err(HookFailure::NoWorker("the wait for the worker broke off".to_owned())),
        }
    }

    fn failure(&self, error: &ScriptError) -> HookFailure {
        match error.kind {
            ErrorKind::Deadline => self.timed_out(),
            ErrorKind::WorkerUnavailable => HookFailure::NoWorker(error.to_string()),
            _ => HookFailure::Failed(error.to_string()),
        }
    }
}

/// A question on its way from a worker's thread.
struct HookQuestion {
    question: String,
    argument: Value,
    answer: Sender<Result<Value, String>>,
}

fn put(ask: &UnboundedSender<HookQuestion>, arguments: &[Value]) -> Result<Value, String> {
    let (answer, answered) = channel();
    let question = arguments.first().and_then(Value::as_str).unwrap_or_default().to_owned();
    let argument = arguments.get(1).cloned().unwrap_or_default();
    let gone = || "the broker is shutting down".to_owned();
    ask.unbounded_send(HookQuestion { question, argument, answer }).map_err(|_| gone())?;
    answered.recv_timeout(ANSWER).map_err(|_| gone())?
}

/// The version of the hook is part of the text, so that nothing compiled for another version is used for it.
fn request(file: &HookFile, action: Action, time_ms: u64, now_ms: u64) -> Request {
    let specifier = format!("./{}", file.name);
    let import = format!("import * as routing from {};", json!(specifier));
    let hook = SentImport { specifier, referrer: ENTRY_NAME.to_owned(), source: file.source() };
    let source = Source::new(ENTRY_NAME, format!("// {}\n{import}\n{ENTRY}", file.version));
    let limits = Limits { time: Duration::from_millis(time_ms), ..Limits::default() };
    #[expect(clippy::cast_precision_loss, reason = "a time in milliseconds fits")]
    let now_ms = now_ms as f64;
    Request { limits, now_ms, imports: vec![hook], ..Request::new(source, action) }
}

/// What a hook writes to its console.
#[derive(Default)]
struct HookLog {
    lines: Mutex<Vec<String>>,
}

impl HookLog {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LogSink for HookLog {
    fn line(&self, _level: LogLevel, text: &str) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() < MAX_LOG_LINES {
            lines.push(text.to_owned());
        }
    }
}
