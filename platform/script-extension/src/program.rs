//! An extension that is a separate program, in any language: one process, which is started when it is needed, works on
//! several calls at once and is started again when it died.

mod approved_copy;
mod call;
mod host_methods;
mod lines;
mod protocol;
mod running;

use crate::folder::ExtensionFolder;
use crate::host_calls::HostCalls;
use crate::limits::{ACTIVATE, PROGRAM_EXIT};
use crate::worker::{CallFailure, WorkerCall};
use approved_copy::approved_copy;
use call::{ProgramRequest, call};
use dispatch_contracts::fault::FaultKind;
use dispatch_contracts::manifest::Capability;
use dispatch_os::threads;
use protocol::{Handshake, PROTOCOL_VERSION, completed};
use running::{ProgramEnd, RunningProgram};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The program of one extension.
pub(crate) struct ExtensionProgram {
    command: Vec<String>,
    folder: Arc<ExtensionFolder>,
    running: Mutex<Option<Arc<RunningProgram>>>,
}

impl ExtensionProgram {
    /// A program by its command line, not started yet.
    pub(crate) fn new(folder: Arc<ExtensionFolder>, command: Vec<String>) -> Self {
        Self { command, folder, running: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<RunningProgram>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a call of an extension's worker: `start`, `invoke` or `stop`.
    pub(crate) async fn run(&self, asked: WorkerCall, host: &HostCalls) -> Result<Value, CallFailure> {
        let WorkerCall { function, arguments, time, scope, .. } = asked;
        let mut arguments = arguments.into_iter();
        let given = arguments.next().unwrap_or_default();
        let mut next = || arguments.next().unwrap_or_default();
        let (program, method, params) = match function {
            "start" => return self.start(&given, host).await.map(|(_, registered)| registered),
            "stop" => match self.alive() {
                Some(program) => (program, "shutdown", json!({})),
                None => return Ok(Value::Null),
            },
            _ => {
                let params = json!({ "kind": next(), "which": next(), "input": next(), "context": next() });
                (self.alive_or_started(&given, host).await?, "invoke", params)
            }
        };
        call(&program, ProgramRequest { method, params, time, scope }, host).await
    }

    fn alive(&self) -> Option<Arc<RunningProgram>> {
        self.lock().as_ref().filter(|program| program.ended().is_none()).cloned()
    }

    async fn alive_or_started(&self, given: &Value, host: &HostCalls) -> Result<Arc<RunningProgram>, CallFailure> {
        match self.alive() {
            Some(program) => Ok(program),
            None => self.start(given, host).await.map(|(program, _)| program),
        }
    }

    /// Starts the process and gives what it registers. Calls that come meanwhile wait in its standard input.
    async fn start(&self, given: &Value, host: &HostCalls) -> Result<(Arc<RunningProgram>, Value), CallFailure> {
        let wrong = |message: String| CallFailure { message, fault: Some(FaultKind::Error) };
        host.require("run as a separate program", Capability::Spawn).map_err(wrong)?;
        let id = host.host().extension().to_string();
        let folder = approved_copy(&self.folder, &host.host().folders().state, &id).map_err(wrong)?;
        let program = RunningProgram::start(&self.command, folder, host.clone()).map_err(wrong)?;
        if let Some(before) = self.lock().replace(Arc::clone(&program)) {
            before.end(ProgramEnd { reason: "its program was started again".to_owned(), fault: None });
        }
        let mut params = given.clone();
        params["protocolVersion"] = PROTOCOL_VERSION.into();
        let request = ProgramRequest { method: "initialize", params, time: ACTIVATE, scope: Arc::default() };
        let answer = call(&program, request, host).await.map_err(|failure| CallFailure {
            message: format!("`initialize`: {}", failure.message),
            fault: failure.fault.or(Some(FaultKind::Error)),
        })?;
        let Handshake { registrations } = Handshake::read(answer).map_err(|reason| {
            program.end(ProgramEnd { reason: reason.clone(), fault: None });
            wrong(reason)
        })?;
        Ok((program, completed(registrations, &id)))
    }

    /// Closes its standard input and ends it after a grace, without waiting for that.
    pub(crate) fn end(&self) {
        let Some(program) = self.lock().take() else { return };
        program.close_input();
        let end = move || {
            threads::sleep(PROGRAM_EXIT);
            program.end(ProgramEnd { reason: "its extension was stopped".to_owned(), fault: None });
        };
        // Without a thread for it, the process ends with this one.
        let _ = threads::spawn("extension-program-exit", end);
    }
}

impl Drop for ExtensionProgram {
    fn drop(&mut self) {
        self.end();
    }
}
