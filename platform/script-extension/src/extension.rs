//! An extension whose code runs in processes of its own, as the kernel sees it: like any other.

use crate::call_scope::CallScope;
use crate::credential::ScriptAuth;
use crate::folder::ExtensionFolder;
use crate::host_calls::HostCalls;
use crate::limits::{ACTIVATE, COMMAND, DEACTIVATE, EVENT, FILTER, JOB};
use crate::model_provider::ScriptProvider;
use crate::processes::ExtensionProcesses;
use crate::recorded::RegistrationRecord;
use crate::registered::{
    Registered, RegisteredCommand, RegisteredEvent, RegisteredFilter, RegisteredJob, RegisteredTool,
};
use crate::route::define_route;
use crate::service::ScriptService;
use crate::worker::{CallFailure, Lane, WorkerCall};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::{Command, Job};
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::host::Host;
use dispatch_contracts::manifest::{Capability, DeclaredMigration, Manifest};
use dispatch_contracts::migration::Migration;
use dispatch_contracts::settings::Settings;
use dispatch_contracts::tool::{Effect, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// With none of these an extension can change nothing outside its own store.
const REACHING_OUT: [Capability; 4] = [Capability::Fs, Capability::Shell, Capability::Network, Capability::Secrets];

/// An extension from a folder that the user approved.
pub struct ScriptExtension {
    manifest_text: String,
    version: String,
    migrations: Vec<DeclaredMigration>,
    folder: Arc<ExtensionFolder>,
    program: Vec<String>,
    processes: Arc<ExtensionProcesses>,
    active: OnceLock<ActiveExtension>,
}

impl ScriptExtension {
    /// The extension in a folder whose manifest was read from it. Nothing runs yet.
    ///
    /// # Errors
    /// When the folder has no code to start with, or this program cannot be started as a worker.
    pub fn new(folder: ExtensionFolder, manifest: &Manifest) -> Result<Self, String> {
        let migrations = manifest.contributes.migrations.clone();
        Self::of(Arc::new(folder), manifest.version.to_string(), migrations, manifest.program.clone())
    }

    fn of(
        folder: Arc<ExtensionFolder>,
        version: String,
        migrations: Vec<DeclaredMigration>,
        program: Vec<String>,
    ) -> Result<Self, String> {
        let manifest_text = folder.manifest().ok_or("there is no manifest")?.to_owned();
        let processes = Arc::new(ExtensionProcesses::new(&folder, &program)?);
        Ok(Self { manifest_text, version, migrations, folder, program, processes, active: OnceLock::new() })
    }

    /// The same extension with processes of its own, never active.
    ///
    /// # Errors
    /// When this program cannot be started as a worker.
    pub fn fresh(&self) -> Result<Self, String> {
        Self::of(Arc::clone(&self.folder), self.version.clone(), self.migrations.clone(), self.program.clone())
    }

    /// Whether another one has the same files.
    #[must_use]
    pub fn has_files_of(&self, other: &Self) -> bool {
        self.folder == other.folder
    }

    /// The processes that run its code at the moment. Waits for a call that runs.
    #[must_use]
    pub fn worker_ids(&self) -> Vec<u32> {
        self.processes.worker_ids()
    }
}

impl Extension for ScriptExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.manifest_text)
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let migrations = loaded_migrations(&self.migrations);
            if !migrations.is_empty() {
                host.define_migrations(migrations).await?;
            }
            let active = ActiveExtension::new(&self.processes, host, &self.version);
            let folders = active.host.folders();
            let adapter = self.processes.adapter();
            let record =
                adapter.and_then(|adapter| RegistrationRecord::new(&folders, &self.folder, &adapter, &active.given));
            match record.as_ref().and_then(RegistrationRecord::read) {
                Some(registered) => active.register_answer(registered)?,
                None => active.start(record.as_ref()).await?,
            }
            // An extension is activated once in its life.
            let _ = self.active.set(active);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let Some(active) = self.active.get() else { return Ok(()) };
            let stop = || active.call(Lane::Calls, "stop", Vec::new(), DEACTIVATE, Arc::default());
            let stopped = self.processes.run_in_all(stop, &active.calls).await;
            self.processes.end();
            stopped.map_err(|failure| ExtensionError(failure.message))
        })
    }
}

/// The steps of a manifest; each one's version is its place.
fn loaded_migrations(declared: &[DeclaredMigration]) -> Vec<Migration> {
    let step = |(version, step): (u32, &DeclaredMigration)| {
        Migration::loaded(version, step.name.clone(), step.statements.clone())
    };
    (1..).zip(declared).map(step).collect()
}

/// An extension with its host: what the kernel's registrations hold.
#[derive(Clone)]
pub(crate) struct ActiveExtension {
    processes: Arc<ExtensionProcesses>,
    pub(crate) host: Host,
    pub(crate) calls: HostCalls,
    /// What the code is told of its surroundings.
    given: Value,
}

/// A call of something that the extension registered.
pub(crate) struct Invocation {
    /// What kind of thing.
    pub(crate) kind: &'static str,
    /// Which one: its name, or its number among the hooks.
    pub(crate) which: Value,
    /// What it is called with.
    pub(crate) input: Value,
    /// What a tool knows beside its arguments.
    pub(crate) context: Value,
    /// How long it may take.
    pub(crate) time: Duration,
    /// Cancellation, and where output and events go.
    pub(crate) scope: Arc<CallScope>,
}

impl Invocation {
    /// A call with an input and nothing else.
    pub(crate) fn new(kind: &'static str, which: impl Into<Value>, input: Value, time: Duration) -> Self {
        Self { kind, which: which.into(), input, context: Value::Null, time, scope: Arc::default() }
    }
}

impl ActiveExtension {
    fn new(processes: &Arc<ExtensionProcesses>, host: Host, version: &str) -> Self {
        let given = json!({
            "id": host.extension(),
            "version": version,
            "workdir": host.folders().workdir,
            "settings": settings_object(&host.settings()),
        });
        Self { processes: Arc::clone(processes), calls: HostCalls::new(host.clone()), host, given }
    }

    fn call(
        &self,
        lane: Lane,
        function: &'static str,
        arguments: Vec<Value>,
        time: Duration,
        scope: Arc<CallScope>,
    ) -> WorkerCall {
        let arguments = std::iter::once(self.given.clone()).chain(arguments).collect();
        WorkerCall { lane, function, arguments, time, scope }
    }

    async fn run(
        &self,
        lane: Lane,
        function: &'static str,
        arguments: Vec<Value>,
        time: Duration,
        scope: Arc<CallScope>,
    ) -> Result<Value, CallFailure> {
        self.processes.run(self.call(lane, function, arguments, time, scope), &self.calls).await
    }

    /// Calls what was registered; what the worker did wrong is not counted yet.
    pub(crate) async fn try_invoke(&self, lane: Lane, call: Invocation) -> Result<Value, CallFailure> {
        let arguments = vec![call.kind.into(), call.which, call.input, call.context];
        self.run(lane, "invoke", arguments, call.time, call.scope).await
    }

    /// Calls what was registered. What the worker did wrong is counted against the extension, under `place`.
    pub(crate) async fn invoke(&self, place: &str, call: Invocation) -> Result<Value, CallFailure> {
        let answer = self.try_invoke(Lane::Calls, call).await;
        answer.inspect_err(|failure| {
            if let Some(kind) = failure.fault {
                self.host.dynamic().report_fault(place, kind, &failure.message);
            }
        })
    }

    /// A failure in words that name the extension.
    pub(crate) fn told(&self, failure: &CallFailure) -> String {
        format!("The extension `{}` failed: {}", self.host.extension(), failure.message)
    }

    /// Runs a handler of a hook; the bus counts its failure.
    async fn handle(&self, lane: Lane, call: Invocation) -> Result<Value, HandlerError> {
        self.try_invoke(lane, call).await.map_err(|failure| HandlerError(failure.message))
    }

    /// Runs `activate` in a worker.
    async fn start(&self, record: Option<&RegistrationRecord>) -> Result<(), ExtensionError> {
        let scope = Arc::new(CallScope::default());
        let answer = self.run(Lane::Calls, "start", Vec::new(), ACTIVATE, Arc::clone(&scope)).await;
        let answer = answer.map_err(|failure| ExtensionError(failure.message))?;
        self.register_answer(answer.clone())?;
        if let Some(record) = record.filter(|_| !scope.has_reached_out()) {
            record.write(answer);
        }
        Ok(())
    }

    fn register_answer(&self, answer: Value) -> Result<(), ExtensionError> {
        self.register(serde_json::from_value(answer).map_err(ExtensionError::new)?)
    }

    fn register(&self, registered: Registered) -> Result<(), ExtensionError> {
        let effect = self.effect();
        for tool in registered.tools {
            // Whoever approved a program believes what it says of its tools: it could do anything at any time.
            let effect = if tool.read_only { Effect::Looks } else { effect };
            let tool = ScriptTool::new(self.clone(), tool, effect).map_err(ExtensionError)?;
            self.host.define_tool(Arc::new(tool)).map_err(ExtensionError::new)?;
        }
        for command in registered.commands {
            self.host.define_command(self.command(command)).map_err(ExtensionError::new)?;
        }
        for provider in registered.providers {
            let item = Arc::new(ScriptProvider::new(self.clone(), provider.name.clone()));
            self.host.define_provider(&provider.name, item).map_err(ExtensionError::new)?;
        }
        for auth in registered.auth {
            let item = Arc::new(ScriptAuth::new(self.clone(), auth.name.clone()));
            self.host.define_auth(&auth.name, item).map_err(ExtensionError::new)?;
        }
        for route in registered.routes {
            define_route(self, route)?;
        }
        for job in registered.jobs {
            self.host.define_job(self.job(&job).map_err(ExtensionError)?).map_err(ExtensionError::new)?;
        }
        for service in registered.services {
            let item = Arc::new(ScriptService::new(self.clone(), service.name.clone(), service.methods));
            self.host.dynamic().provide(service.name, item).map_err(ExtensionError::new)?;
        }
        self.register_hooks(&registered.events, &registered.filters)
    }

    fn register_hooks(&self, events: &[RegisteredEvent], filters: &[RegisteredFilter]) -> Result<(), ExtensionError> {
        let host = self.host.dynamic();
        for (at, event) in events.iter().enumerate() {
            let active = self.clone();
            let handler = Arc::new(move |payload: Value| -> BoxFuture<'static, Result<(), HandlerError>> {
                let active = active.clone();
                let call = Invocation::new("event", at, payload, EVENT);
                Box::pin(async move { active.handle(Lane::Events, call).await.map(drop) })
            });
            host.on(&event.id().map_err(ExtensionError)?, handler).map_err(ExtensionError::new)?;
        }
        for (at, filter) in filters.iter().enumerate() {
            let active = self.clone();
            let handler = Arc::new(move |value: Value| -> BoxFuture<'static, Result<Option<Value>, HandlerError>> {
                let active = active.clone();
                let call = Invocation::new("filter", at, value, FILTER);
                Box::pin(async move {
                    let changed = active.handle(Lane::Filters, call).await?;
                    Ok(Some(changed).filter(|value| !value.is_null()))
                })
            });
            let (id, priority) = (filter.id().map_err(ExtensionError)?, filter.priority().map_err(ExtensionError)?);
            host.filter(&id, priority, handler).map_err(ExtensionError::new)?;
        }
        Ok(())
    }

    /// What a call of its tools does at most.
    fn effect(&self) -> Effect {
        let host = self.host.dynamic();
        let reaches_out = REACHING_OUT.into_iter().any(|capability| host.require("reach out", capability).is_ok());
        if reaches_out || self.processes.are_unconfined() { Effect::Changes } else { Effect::Looks }
    }

    fn command(&self, command: RegisteredCommand) -> Command {
        let (active, name) = (self.clone(), command.name.clone());
        let respond = Arc::new(move |request: Value| -> BoxFuture<'static, Result<Value, HandlerError>> {
            let (active, name) = (active.clone(), name.clone());
            let arguments = request.get("args").cloned().unwrap_or_else(|| json!([]));
            Box::pin(async move {
                let place = format!("command {name}");
                let answer = active.invoke(&place, Invocation::new("command", name, arguments, COMMAND)).await;
                answer.map_err(|failure| HandlerError(failure.message))
            })
        });
        Command { name: command.name, summary: command.description, respond }
    }

    fn job(&self, job: &RegisteredJob) -> Result<Job, String> {
        let (active, name, every_ms) = (self.clone(), job.name.clone(), job.every_ms()?);
        let run = Arc::new(move || -> BoxFuture<'static, Result<(), HandlerError>> {
            let (active, name) = (active.clone(), name.clone());
            // The host counts the failure of a job itself.
            let call = Invocation::new("job", name, Value::Null, JOB);
            Box::pin(async move { active.handle(Lane::Calls, call).await.map(drop) })
        });
        Ok(Job { name: job.name.clone().into(), every_ms, run })
    }
}

/// A tool of such an extension.
struct ScriptTool {
    active: ActiveExtension,
    spec: ToolSpec,
    time: Duration,
    effect: Effect,
}

impl ScriptTool {
    fn new(active: ActiveExtension, tool: RegisteredTool, effect: Effect) -> Result<Self, String> {
        let time = tool.time()?;
        let RegisteredTool { name, description, parameters, concurrency_safe, .. } = tool;
        Ok(Self { active, spec: ToolSpec { name, description, parameters, concurrency_safe }, time, effect })
    }
}

impl Tool for ScriptTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self, _arguments: &Map<String, Value>) -> Effect {
        self.effect
    }

    fn call<'a>(
        &'a self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let told = json!({ "callId": context.call_id, "session": context.session, "workdir": context.workdir });
            let (name, place) = (self.spec.name.clone(), format!("tool {}", self.spec.name));
            let call = Invocation {
                context: told,
                scope: Arc::new(CallScope::of_tool(context)),
                ..Invocation::new("tool", name, Value::Object(arguments), self.time)
            };
            let answer = self.active.invoke(&place, call).await;
            let answer = answer.map_err(|failure| ToolError(self.active.told(&failure)))?;
            Ok(ToolOutput::text(answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)))
        })
    }
}

/// The settings of an extension as one object: the dots in a name are levels.
fn settings_object(settings: &Settings) -> Value {
    let mut object = json!({});
    for (name, setting) in settings.iter() {
        let mut place = &mut object;
        for part in name.split('.') {
            if !place.is_object() {
                *place = json!({});
            }
            place = &mut place[part];
        }
        *place = setting.value.clone();
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_settings_become_an_object() {
        let settings = Settings::default().with("greeting", "hi").with("mail.to", "me").with("mail.max", 3);
        assert_eq!(settings_object(&settings), json!({ "greeting": "hi", "mail": { "to": "me", "max": 3 } }));
        assert_eq!(settings_object(&Settings::default()), json!({}));
    }
}
