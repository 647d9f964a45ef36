//! The parent's side: one worker, one request at a time, and an end to every request.

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use dispatch_os::time;
use serde_json::Value;

use crate::engine::{Callee, check_json_size, parse_json};
use crate::error::{ErrorKind, ScriptError};
use crate::limits::Limits;

use super::backoff::Backoff;
use super::frame;
use super::protocol::{ConsoleWire, FromWorker, ImportsWire, ModuleWire, RunWire, ScriptWire, ToWorker};
use super::request::{Action, Lifetime, Port, Request};
use super::spawn::{Worker, WorkerCommand};

/// Longest budget that is believed; a longer one is a mistake or an attempt to have none.
const MAX_REQUEST_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a caller that can change its mind is asked whether it did.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// How patient a supervisor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SupervisorLimits {
    /// Time past a request's own budget after which the worker is killed.
    pub kill_grace: Duration,
    /// Time a worker may take to start.
    pub start: Duration,
}

impl Default for SupervisorLimits {
    fn default() -> Self {
        Self { kill_grace: Duration::from_millis(100), start: Duration::from_secs(5) }
    }
}

/// Runs scripts in a child process that it starts when needed, kills at the deadline and starts again.
///
/// Calls block the thread and wait for each other; for parallel work make several. A host function must not call the
/// supervisor that runs it.
pub struct Supervisor {
    command: WorkerCommand,
    limits: SupervisorLimits,
    state: Mutex<SupervisorState>,
}

#[derive(Default)]
struct SupervisorState {
    worker: Option<Worker>,
    backoff: Backoff,
}

impl Supervisor {
    /// A supervisor whose worker starts with the first request.
    pub fn new(command: WorkerCommand, limits: SupervisorLimits) -> Self {
        Self { command, limits, state: Mutex::default() }
    }

    /// The process id of the worker, if one runs.
    pub fn worker_id(&self) -> Option<u32> {
        self.lock().worker.as_ref().map(Worker::id)
    }

    /// Whether there is a worker; never waits for a request that runs.
    pub fn is_running(&self) -> bool {
        match self.state.try_lock() {
            Ok(state) => state.worker.is_some(),
            Err(TryLockError::Poisoned(state)) => state.into_inner().worker.is_some(),
            Err(TryLockError::WouldBlock) => true,
        }
    }

    /// Starts the worker if none runs, so that the next request does not wait for that.
    ///
    /// # Errors
    /// [`ErrorKind::WorkerUnavailable`] when it cannot be started or died too often of late.
    pub fn prepare(&self) -> Result<(), ScriptError> {
        let mut state = self.lock();
        let worker = self.take_worker(&mut state)?;
        state.worker = Some(worker);
        Ok(())
    }

    /// Ends the worker, after the request that runs. The next request starts another.
    pub fn stop(&self) {
        let worker = self.lock().worker.take();
        drop(worker);
    }

    /// Runs one request to its end.
    ///
    /// # Errors
    /// What [`crate::Script`] reports, and [`ErrorKind::Deadline`] when the worker had to be killed,
    /// [`ErrorKind::WorkerCrashed`] when it died, [`ErrorKind::WorkerUnavailable`] when it cannot be started or died
    /// too often of late.
    pub fn run(&self, request: &Request, port: &Port<'_>) -> Result<Value, ScriptError> {
        let exchange = Exchange { request, port, script: script_wire(request, port)? };
        let call = call_wire(request)?;
        let mut state = self.lock();
        let mut worker = self.take_worker(&mut state)?;
        let run = RunWire {
            module: match request.lifetime {
                Lifetime::Fresh => ModuleWire::Fresh(Box::new(exchange.script.clone())),
                Lifetime::Kept => worker.known.name(&exchange.script),
            },
            time: request.limits.time,
            call,
            now_ms: request.now_ms,
            clock: request.clock,
        };
        let frame = match encode(&ToWorker::Run(Box::new(run))) {
            Ok(frame) => frame,
            Err(error) => {
                state.worker = Some(worker);
                return Err(error);
            }
        };
        match self.converse(&mut worker, frame, &exchange) {
            Ok(outcome) => {
                state.worker = Some(worker);
                state.backoff.succeeded();
                let text = outcome?;
                parse_json(Some(text), request.limits.value_bytes)
            }
            Err(error) if error.kind == ErrorKind::Cancelled => Err(error),
            Err(error) => {
                state.backoff.failed(time::monotonic_ms());
                Err(error)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, SupervisorState> {
        // A panic in a host function leaves no half-made state: the worker was taken out.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The running worker, or a new one if it is gone and enough time has passed.
    fn take_worker(&self, state: &mut SupervisorState) -> Result<Worker, ScriptError> {
        if let Some(mut worker) = state.worker.take()
            && worker.is_alive()
        {
            return Ok(worker);
        }
        if let Some(wait) = state.backoff.wait(time::monotonic_ms()) {
            return Err(ScriptError::new(
                ErrorKind::WorkerUnavailable,
                format!("the script worker died too often; next start in {} ms", wait.as_millis()),
            ));
        }
        self.start().inspect_err(|_| state.backoff.failed(time::monotonic_ms()))
    }

    fn start(&self) -> Result<Worker, ScriptError> {
        let unavailable = |reason: String| {
            ScriptError::new(ErrorKind::WorkerUnavailable, format!("the script worker did not start: {reason}"))
        };
        let mut worker = self.command.start().map_err(|error| unavailable(error.to_string()))?;
        match worker.from.recv_timeout(self.limits.start) {
            Ok(Ok(FromWorker::Ready)) => Ok(worker),
            Ok(_) => Err(unavailable("it does not speak the worker protocol".to_owned())),
            Err(RecvTimeoutError::Timeout) => {
                Err(unavailable(format!("timed out after {} ms", self.limits.start.as_millis())))
            }
            Err(RecvTimeoutError::Disconnected) => Err(unavailable(worker.kill())),
        }
    }

    /// Sends the request and serves the worker until it is done. An outer error means the worker is gone.
    fn converse(
        &self,
        worker: &mut Worker,
        frame: Vec<u8>,
        exchange: &Exchange<'_>,
    ) -> Result<Result<String, ScriptError>, ScriptError> {
        let Exchange { request, port, .. } = exchange;
        let grace = self.limits.kill_grace;
        let mut kill_at = time::now() + request.limits.time.min(MAX_REQUEST_TIME) + grace;
        let mut reply = Some(frame);
        loop {
            if let Some(frame) = reply.take()
                && worker.send(frame).is_err()
            {
                return Err(crashed(worker));
            }
            let left = kill_at.saturating_duration_since(time::now());
            let wait = if port.cancelled.is_some() { left.min(CANCEL_INTERVAL) } else { left };
            match worker.from.recv_timeout(wait) {
                Ok(Ok(FromWorker::Done(outcome))) => return Ok(outcome),
                Ok(Ok(message)) => {
                    reply = serve(message, exchange)?;
                    // The parent may have been slow to serve; the worker still deserves to say so itself.
                    kill_at = kill_at.max(time::now() + grace);
                }
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Err(crashed(worker)),
                Err(RecvTimeoutError::Timeout) if port.cancelled.is_some_and(|cancelled| cancelled()) => {
                    worker.kill();
                    return Err(ScriptError::new(ErrorKind::Cancelled, "nobody waits for the answer any more"));
                }
                Err(RecvTimeoutError::Timeout) if time::now() < kill_at => {}
                Err(RecvTimeoutError::Timeout) => {
                    worker.kill();
                    return Err(over_time(request, grace));
                }
            }
        }
    }
}

/// One request while it runs.
struct Exchange<'a> {
    request: &'a Request,
    port: &'a Port<'a>,
    script: ScriptWire,
}

/// Does what the worker asks of the parent; gives the frame to answer with.
fn serve(message: FromWorker, exchange: &Exchange<'_>) -> Result<Option<Vec<u8>>, ScriptError> {
    let Exchange { request, port, script } = exchange;
    match message {
        FromWorker::ModuleWanted => encode(&ToWorker::Module(Box::new(script.clone()))).map(Some),
        FromWorker::Logged { level, text } => {
            if let Some(log) = port.log {
                log.line(level, &text);
            }
            Ok(None)
        }
        FromWorker::HostCalled { name, arguments } => {
            let result = call_host(&name, arguments, request, port);
            encode(&ToWorker::HostReturned(result)).map(Some)
        }
        FromWorker::ImportWanted { specifier, referrer } => {
            let source = match port.sources {
                Some(sources) => sources.load(&specifier, &referrer),
                None => Err("this script may not import other files".to_owned()),
            };
            encode(&ToWorker::Imported(source)).map(Some)
        }
        FromWorker::Ready | FromWorker::Done(_) => {
            Err(ScriptError::new(ErrorKind::WorkerCrashed, "the worker sent a message out of turn"))
        }
    }
}

fn call_host(name: &str, arguments: String, request: &Request, port: &Port<'_>) -> Result<String, String> {
    let function =
        port.host.and_then(|host| host.get(name)).ok_or_else(|| format!("unknown host function \"{name}\""))?;
    let arguments = parse_json(Some(arguments), request.limits.value_bytes).map_err(|error| error.message)?;
    let arguments = arguments.as_array().map_or(&[][..], Vec::as_slice);
    function(arguments).map(|value| value.to_string())
}

fn script_wire(request: &Request, port: &Port<'_>) -> Result<ScriptWire, ScriptError> {
    request.source.checked_text(&request.limits)?;
    Ok(ScriptWire {
        source: request.source.clone(),
        sent: request.imports.clone(),
        limits: Limits { time: Duration::ZERO, ..request.limits.clone() },
        random_seed: request.random_seed,
        virtual_modules: request.virtual_modules.clone(),
        host_names: port.host.map(|host| host.names().map(str::to_owned).collect()).unwrap_or_default(),
        imports: match port.sources {
            Some(sources) if sources.finds_packages() => ImportsWire::AllRelayed,
            Some(_) => ImportsWire::Relayed,
            None => ImportsWire::Refused,
        },
        console: match port.log {
            Some(_) => ConsoleWire::Relayed,
            None => ConsoleWire::Dropped,
        },
        idle_export: request.idle_export.clone(),
    })
}

fn call_wire(request: &Request) -> Result<Option<(Callee, Vec<String>)>, ScriptError> {
    match &request.action {
        Action::Exports => Ok(None),
        Action::Call(callee, values) => Ok(Some((callee.clone(), texts(values, request)?))),
    }
}

fn texts(values: &[Value], request: &Request) -> Result<Vec<String>, ScriptError> {
    let texts: Vec<String> = values.iter().map(Value::to_string).collect();
    let bytes = texts.iter().map(String::len).sum();
    check_json_size(bytes, request.limits.value_bytes)?;
    Ok(texts)
}

fn encode(message: &ToWorker) -> Result<Vec<u8>, ScriptError> {
    frame::encode(message).map_err(|error| {
        ScriptError::new(
            ErrorKind::Limit,
            format!("the request does not fit into {} bytes: {error}", frame::MAX_FRAME_BYTES),
        )
    })
}

fn crashed(worker: &mut Worker) -> ScriptError {
    let status = worker.kill();
    ScriptError::new(ErrorKind::WorkerCrashed, format!("the script worker ended while it ran the script: {status}"))
}

fn over_time(request: &Request, grace: Duration) -> ScriptError {
    ScriptError::new(
        ErrorKind::Deadline,
        format!(
            "the script worker was killed {} ms after the script's budget of {} ms",
            grace.as_millis(),
            request.limits.time.as_millis()
        ),
    )
}
