//! The worker processes of one extension: one for tools and commands, one for events and filters.
//!
//! They are two, so that a slow tool holds up no filter. Each activates the extension for itself when it is first needed
//! and again when it was restarted; what `activate` registers there is what the first activation registered.

use crate::folder::ExtensionFolder;
use crate::host_calls::HostCalls;
use crate::limits::START;
use crate::module_paths;
use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::tool::ToolContext;
use dispatch_os::environment::current_program;
use dispatch_os::threads::offload;
use dispatch_script::{
    Action, Callee, ErrorKind, HostFunctions, Lifetime, Limits, LogLevel, LogSink, ModuleSource, Port, Request,
    ScriptError, Source, Supervisor, SupervisorLimits, WorkerCommand,
};
use futures_channel::mpsc::{UnboundedSender, unbounded};
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// How the program is started as a script worker.
pub(crate) const WORKER_COMMAND: &str = "script-worker";
const ADAPTER: &str = include_str!("adapter.js");
/// The adapter's name; no file of an extension is called so.
const ADAPTER_NAME: &str = "dispatch:extension.js";
/// Takes the host function out of the globals before a line of the extension runs.
const HOST_MODULE: (&str, &str) =
    ("dispatch:host", "const { call } = globalThis.host;\ndelete globalThis.host;\nexport { call };\n");

/// Which worker a call runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Tools and commands, which may take long.
    Calls,
    /// Events and filters, which somebody waits for.
    Hooks,
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
    /// The call of a tool that this is, if it is one.
    pub(crate) tool: Option<ToolContext>,
}

/// The workers and what they run.
pub(crate) struct ExtensionWorkers {
    source: Source,
    folder: Arc<ExtensionFolder>,
    calls: Arc<Supervisor>,
    hooks: Arc<Supervisor>,
}

impl ExtensionWorkers {
    /// Workers for a folder whose code starts in `entry`. No process is started yet.
    pub(crate) fn new(folder: Arc<ExtensionFolder>, entry: &str) -> Result<Self, String> {
        let program = current_program().map_err(|error| error.to_string())?;
        let supervisor = || {
            let command = WorkerCommand::new(program.clone(), [WORKER_COMMAND]);
            Arc::new(Supervisor::new(command, SupervisorLimits { start: START, ..SupervisorLimits::default() }))
        };
        let source = Source::new(ADAPTER_NAME, ADAPTER.replace("ENTRY", entry));
        Ok(Self { source, folder, calls: supervisor(), hooks: supervisor() })
    }

    /// Whether the worker of a lane runs.
    pub(crate) fn is_running(&self, lane: Lane) -> bool {
        self.supervisor(lane).worker_id().is_some()
    }

    /// The processes of both lanes that run.
    pub(crate) fn worker_ids(&self) -> Vec<u32> {
        [&self.calls, &self.hooks].into_iter().filter_map(|supervisor| supervisor.worker_id()).collect()
    }

    fn supervisor(&self, lane: Lane) -> &Arc<Supervisor> {
        match lane {
            Lane::Calls => &self.calls,
            Lane::Hooks => &self.hooks,
        }
    }

    /// Runs the call on a thread of its own and answers its questions here. Whoever drops this ends the call.
    pub(crate) async fn run(&self, call: WorkerCall, host: &HostCalls) -> Result<Value, CallFailure> {
        let (ask, mut asked) = unbounded::<HostQuestion>();
        let abandoned = Abandoned::default();
        let run = self.prepared(call, host, ask, &abandoned);
        let mut running = offload("extension", run).map_err(|error| CallFailure {
            message: format!("cannot start a thread: {error}"),
            fault: Some(FaultKind::Error),
        })?;
        loop {
            match select(running, asked.next()).await {
                Either::Left((returned, _)) => return returned.map_err(failure),
                Either::Right((Some(question), still)) => {
                    let said = host.answer(&question.operation, &question.arguments).await;
                    // A script that was stopped meanwhile hears no answer.
                    let _ = question.answer.send(said);
                    running = still;
                }
                Either::Right((None, still)) => return still.await.map_err(failure),
            }
        }
    }

    fn prepared(
        &self,
        call: WorkerCall,
        host: &HostCalls,
        ask: UnboundedSender<HostQuestion>,
        abandoned: &Abandoned,
    ) -> impl FnOnce() -> Result<Value, ScriptError> + Send + 'static {
        let WorkerCall { lane, function, arguments, time, tool } = call;
        let supervisor = Arc::clone(self.supervisor(lane));
        let imports = FolderImports(Arc::clone(&self.folder));
        let lines = ConsoleLines(host.clone());
        let functions = host_functions(host.clone(), tool, ask);
        let is_abandoned = Arc::clone(&abandoned.0);
        let request = Request {
            lifetime: Lifetime::Kept,
            limits: Limits { time, ..Limits::default() },
            now_ms: host.now_ms(),
            virtual_modules: BTreeMap::from([(HOST_MODULE.0.to_owned(), HOST_MODULE.1.to_owned())]),
            ..Request::new(self.source.clone(), Action::Call(Callee::export(function), arguments))
        };
        move || {
            let cancelled = || is_abandoned.load(Ordering::Acquire);
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

/// Tells the thread of a call that nobody waits for it, when the one who did is gone.
#[derive(Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A question on its way from a worker's thread.
struct HostQuestion {
    operation: String,
    arguments: Vec<Value>,
    answer: Sender<Result<Value, String>>,
}

/// The one function that the adapter calls: what can be answered here is, the rest is asked.
fn host_functions(host: HostCalls, tool: Option<ToolContext>, ask: UnboundedSender<HostQuestion>) -> HostFunctions {
    HostFunctions::new().with("call", move |arguments| {
        let (operation, arguments) = arguments.split_first().ok_or("no operation")?;
        let operation = operation.as_str().ok_or("no operation")?.to_owned();
        if let Some(answer) = host.answer_at_once(&operation, arguments, tool.as_ref()) {
            return answer;
        }
        let (answer, answered) = channel();
        let question = HostQuestion { operation, arguments: arguments.to_vec(), answer };
        let gone = || "nobody waits for the answer any more".to_owned();
        ask.unbounded_send(question).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    })
}

fn failure(error: ScriptError) -> CallFailure {
    let fault = match error.kind {
        ErrorKind::Deadline => Some(FaultKind::Timeout),
        ErrorKind::Memory | ErrorKind::Engine | ErrorKind::WorkerCrashed | ErrorKind::WorkerUnavailable => {
            Some(FaultKind::Error)
        }
        _ => None,
    };
    let hint = error.hint.as_ref().map(|hint| format!(" (hint: {hint})"));
    CallFailure { message: format!("{error}{}", hint.unwrap_or_default()), fault }
}

/// The files of the extension, as they were when it was approved.
pub(crate) struct FolderImports(pub(crate) Arc<ExtensionFolder>);

impl ModuleSource for FolderImports {
    fn load(&self, specifier: &str, referrer: &str) -> Result<Source, String> {
        let referrer = if referrer == ADAPTER_NAME { "" } else { referrer };
        let name = module_paths::resolve(specifier, referrer).ok_or("it is outside the extension's folder")?;
        let text = self.0.text(&name).ok_or_else(|| format!("there is no file `{name}` in the extension's folder"))?;
        Ok(Source::new(name, text))
    }
}

/// What an extension writes to its console goes where its logger writes.
struct ConsoleLines(HostCalls);

impl LogSink for ConsoleLines {
    fn line(&self, level: LogLevel, text: &str) {
        let level = match level {
            LogLevel::Debug => "debug",
            LogLevel::Log | LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        };
        self.0.log(level, text, serde_json::Map::new());
    }
}
