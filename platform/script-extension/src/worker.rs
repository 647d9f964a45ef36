//! The worker processes of one extension, in lanes, so that a slow tool holds up no filter.
//!
//! A worker runs one call at a time; a lane starts another one when all of its workers are busy. Each activates the
//! extension for itself when it is first needed and again when it was restarted; what `activate` registers there is what
//! the first activation registered.

use crate::call_scope::CallScope;
use crate::folder::ExtensionFolder;
use crate::host_calls::HostCalls;
use crate::limits::{MAX_CALL_WORKERS, MAX_EVENT_WORKERS, MAX_FILTER_WORKERS, START};
use crate::module_paths;
use crate::packages::{self, PackageImport};
use crate::questions::{OpenQuestions, WaitQuestion};
use crate::worker_pool::WorkerPool;
use dispatch_contracts::fault::FaultKind;
use dispatch_os::environment::current_program;
use dispatch_os::threads::{KeptThreads, offload};
use dispatch_os::time::{self, Instant};
use dispatch_script::{
    Action, Callee, ErrorKind, HostFunctions, Lifetime, Limits, LogLevel, LogSink, ModuleSource, Port, Request,
    ScriptClock, ScriptError, Source, Supervisor, SupervisorLimits, WorkerCommand,
};
use futures_channel::mpsc::{UnboundedSender, unbounded};
use futures_util::FutureExt as _;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock, OnceLock};
use std::task::Poll;
use std::time::Duration;

/// How the program is started as a script worker.
pub(crate) const WORKER_COMMAND: &str = "script-worker";
const ADAPTER: &str = include_str!("adapter.js");
/// The adapter's name; no file of an extension is called so.
const ADAPTER_NAME: &str = "dispatch:extension.js";
/// Takes the host function out of the globals before a line of the extension runs.
const HOST_MODULE: (&str, &str) =
    ("dispatch:host", "const { call } = globalThis.host;\ndelete globalThis.host;\nexport { call };\n");
/// Questions that take a while, timers and cancellation.
const WAITING_MODULE: (&str, &str) = ("dispatch:waiting", include_str!("waiting.js"));
/// The export of the adapter that waits when nothing is left to run.
const IDLE_EXPORT: &str = "whenIdle";

/// Each call waits on one of them for its worker.
static THREADS: LazyLock<KeptThreads> = LazyLock::new(|| KeptThreads::new("extension"));

/// Which workers a call runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// What may take long: tools, commands, providers, routes, jobs, services.
    Calls,
    /// Events.
    Events,
    /// Filters, which a turn waits for.
    Filters,
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct CallFailure {
    pub(crate) message: String,
    /// What the worker did wrong; `None` if the code threw an error, as code may.
    pub(crate) fault: Option<FaultKind>,
}

/// One call of an exported function of the adapter.
pub(crate) struct WorkerCall {
    pub(crate) lane: Lane,
    pub(crate) function: &'static str,
    pub(crate) arguments: Vec<Value>,
    pub(crate) time: Duration,
    pub(crate) scope: Arc<CallScope>,
}

/// The workers and what they run.
pub(crate) struct ExtensionWorkers {
    source: Source,
    folder: Arc<ExtensionFolder>,
    calls: Arc<WorkerPool>,
    events: Arc<WorkerPool>,
    filters: Arc<WorkerPool>,
}

impl ExtensionWorkers {
    /// Workers for a folder whose code starts in `entry`. No process is started yet.
    pub(crate) fn new(folder: Arc<ExtensionFolder>, entry: &str) -> Result<Self, String> {
        let program = current_program().map_err(|error| error.to_string())?;
        let pool = |max_workers| {
            let program = program.clone();
            let new = move || {
                let command = WorkerCommand::new(program.clone(), [WORKER_COMMAND]);
                Supervisor::new(command, SupervisorLimits { start: START, ..SupervisorLimits::default() })
            };
            WorkerPool::new(max_workers, Box::new(new))
        };
        let source = Source::new(ADAPTER_NAME, ADAPTER.replace("ENTRY", entry));
        let (calls, events, filters) = (pool(MAX_CALL_WORKERS), pool(MAX_EVENT_WORKERS), pool(MAX_FILTER_WORKERS));
        Ok(Self { source, folder, calls, events, filters })
    }

    /// The code that runs the extension's own.
    pub(crate) fn adapter(&self) -> String {
        [&self.source.text, HOST_MODULE.1, WAITING_MODULE.1].join("\n")
    }

    /// The processes that run.
    pub(crate) fn worker_ids(&self) -> Vec<u32> {
        let pools = [&self.calls, &self.events, &self.filters].into_iter();
        pools.flat_map(|pool| pool.running()).filter_map(|supervisor| supervisor.worker_id()).collect()
    }

    /// Ends the processes, without waiting for them.
    pub(crate) fn end(&self) {
        for supervisor in [&self.calls, &self.events, &self.filters].into_iter().flat_map(|pool| pool.all()) {
            // Without a thread for it, the process ends with the last one who holds the workers.
            let _ = offload("extension-end", move || supervisor.stop());
        }
    }

    fn pool(&self, lane: Lane) -> &Arc<WorkerPool> {
        match lane {
            Lane::Calls => &self.calls,
            Lane::Events => &self.events,
            Lane::Filters => &self.filters,
        }
    }

    /// Runs the call on a thread of its own and answers its questions here. Whoever drops this ends the call.
    pub(crate) async fn run(&self, call: WorkerCall, host: &HostCalls) -> Result<Value, CallFailure> {
        let place = self.pool(call.lane).take();
        self.run_in(Arc::clone(&place.supervisor), call, host).await
    }

    /// The same in every worker that runs.
    pub(crate) async fn run_in_all(&self, call: impl Fn() -> WorkerCall, host: &HostCalls) -> Result<(), CallFailure> {
        let pools = [&self.calls, &self.events, &self.filters];
        for supervisor in pools.into_iter().flat_map(|pool| pool.running()) {
            self.run_in(supervisor, call(), host).await?;
        }
        Ok(())
    }

    async fn run_in(
        &self,
        supervisor: Arc<Supervisor>,
        call: WorkerCall,
        host: &HostCalls,
    ) -> Result<Value, CallFailure> {
        let (ask, asked) = unbounded();
        let abandoned = AbandonOnDrop(Arc::clone(&call.scope));
        let mut questions = OpenQuestions::new(host.clone(), Arc::clone(&call.scope), asked);
        let mut running = THREADS.offload(self.prepared(supervisor, call, host, ask)).map_err(|error| CallFailure {
            message: format!("cannot start a thread: {error}"),
            fault: Some(FaultKind::Error),
        })?;
        let returned = std::future::poll_fn(|context| {
            if let Poll::Ready(returned) = running.poll_unpin(context) {
                return Poll::Ready(returned);
            }
            questions.poll(context);
            Poll::Pending
        });
        let returned = returned.await;
        drop(abandoned);
        returned.map_err(|error| failure(&error, host))
    }

    fn prepared(
        &self,
        supervisor: Arc<Supervisor>,
        call: WorkerCall,
        host: &HostCalls,
        ask: UnboundedSender<WaitQuestion>,
    ) -> impl FnOnce() -> Result<Value, ScriptError> + Send + 'static {
        let WorkerCall { function, arguments, time, scope, .. } = call;
        let imports = FolderImports(Arc::clone(&self.folder));
        let lines = ConsoleLines { host: host.clone(), scope: Arc::clone(&scope) };
        let functions = host_functions(host.clone(), Arc::clone(&scope), ask, time);
        let modules = [HOST_MODULE, WAITING_MODULE].map(|(name, text)| (name.to_owned(), text.to_owned()));
        let request = Request {
            lifetime: Lifetime::Kept,
            limits: Limits { time, ..Limits::default() },
            now_ms: host.now_ms(),
            clock: ScriptClock::Runs,
            virtual_modules: BTreeMap::from(modules),
            idle_export: Some(IDLE_EXPORT.to_owned()),
            ..Request::new(self.source.clone(), Action::Call(Callee::export(function), arguments))
        };
        move || {
            let cancelled = || scope.is_overdue();
            let port = Port {
                host: Some(&functions),
                log: Some(&lines),
                sources: Some(&imports),
                cancelled: Some(&cancelled),
            };
            supervisor.run(&request, &port)
        }
    }
}

/// Tells a call that nobody waits for it, when the one who did is gone.
struct AbandonOnDrop(Arc<CallScope>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// The one function that the adapter calls: what can be answered here is, the rest is asked, until the call's time is up.
fn host_functions(
    host: HostCalls,
    scope: Arc<CallScope>,
    ask: UnboundedSender<WaitQuestion>,
    time: Duration,
) -> HostFunctions {
    // From the first question on: how long the worker took to start is not the code's fault.
    let deadline: OnceLock<Instant> = OnceLock::new();
    HostFunctions::new().with("call", move |arguments| {
        scope.reach_out();
        let (operation, arguments) = arguments.split_first().ok_or("no operation")?;
        let operation = operation.as_str().ok_or("no operation")?;
        if operation != "wait" {
            let answer = host.answer_at_once(operation, arguments, &scope);
            return answer.unwrap_or_else(|| Err(format!("unknown operation `{operation}`")));
        }
        let begun = arguments.first().and_then(Value::as_array).cloned().unwrap_or_default();
        let timer_ms = arguments.get(1).and_then(Value::as_f64).map(whole_milliseconds);
        let (answer, answered) = channel();
        let gone = || "nobody waits for the answer any more".to_owned();
        ask.unbounded_send(WaitQuestion { begun, timer_ms, answer }).map_err(|_| gone())?;
        let deadline = deadline.get_or_init(|| time::now() + time);
        answered.recv_timeout(deadline.saturating_duration_since(time::now())).map_err(|error| match error {
            RecvTimeoutError::Timeout => "the time of the call is up".to_owned(),
            RecvTimeoutError::Disconnected => gone(),
        })?
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time is small and not negative")]
fn whole_milliseconds(ms: f64) -> u64 {
    ms.max(0.0).ceil() as u64
}

fn failure(error: &ScriptError, host: &HostCalls) -> CallFailure {
    let fault = match error.kind {
        ErrorKind::Deadline => Some(FaultKind::Timeout),
        ErrorKind::Memory | ErrorKind::Engine | ErrorKind::WorkerCrashed | ErrorKind::WorkerUnavailable => {
            Some(FaultKind::Error)
        }
        _ => None,
    };
    let hint = error.hint.as_ref().map(|hint| format!(" (hint: {hint})"));
    let message = host.hide_secrets(&format!("{error}{}", hint.unwrap_or_default()));
    CallFailure { message, fault }
}

/// The files of the extension, as they were when it was approved.
pub(crate) struct FolderImports(pub(crate) Arc<ExtensionFolder>);

impl ModuleSource for FolderImports {
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        let referrer = if referrer.starts_with("dispatch:") { "" } else { referrer };
        if !specifier.starts_with("./") && !specifier.starts_with("../") {
            return self.package(specifier, referrer);
        }
        let name = module_paths::resolve(specifier, referrer).ok_or("it is outside the extension's folder")?;
        self.source(&name)
    }

    fn finds_packages(&self) -> bool {
        true
    }
}

impl FolderImports {
    fn source(&self, name: &str) -> Result<Source, String> {
        let text = self.0.text(name).ok_or_else(|| format!("there is no file `{name}` in the extension's folder"))?;
        Ok(Source::new(name, text))
    }

    /// A package in the extension's own `node_modules`.
    fn package(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        let PackageImport { package, subpath } = PackageImport::read(specifier)?;
        let manifest_of = |folder: &String| {
            let text = self.0.text(&format!("{folder}/package.json"))?;
            Some((folder.clone(), serde_json::from_str::<Map<String, Value>>(text).ok()?))
        };
        let found = packages::folders(package, referrer).iter().find_map(manifest_of);
        let (folder, manifest) = found.ok_or_else(|| {
            format!(
                "the package `{package}` is not among the extension's files: list it under `dependencies` of the \
                 extension's package.json and install it into the extension's own node_modules"
            )
        })?;
        let entry = packages::entry(&manifest, &subpath).map_err(|why| format!("the package `{package}`: {why}"))?;
        let source = self.source(&format!("{folder}/{entry}"))?;
        if packages::is_common_js(&source.name, &manifest, &source.text) {
            return Err(format!(
                "`{}` is a CommonJS module; only packages that are ECMAScript modules can be imported",
                source.name
            ));
        }
        Ok(source)
    }
}

/// What an extension writes to its console goes where its logger writes.
struct ConsoleLines {
    host: HostCalls,
    scope: Arc<CallScope>,
}

impl LogSink for ConsoleLines {
    fn line(&self, level: LogLevel, text: &str) {
        let level = match level {
            LogLevel::Debug => "debug",
            LogLevel::Log | LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        };
        self.scope.reach_out();
        self.host.log(level, text, Map::new());
    }
}
