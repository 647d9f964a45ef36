//! An extension whose code runs in worker processes, as the kernel sees it: like any other.

use crate::folder::ExtensionFolder;
use crate::host_calls::HostCalls;
use crate::limits::{ACTIVATE, COMMAND, DEACTIVATE, EVENT, FILTER};
use crate::registered::{Registered, RegisteredCommand, RegisteredTool};
use crate::worker::{CallFailure, ExtensionWorkers, Lane, WorkerCall};
use dispatch_contracts::BoxFuture;
use dispatch_contracts::contribution::Command;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::host::Host;
use dispatch_contracts::manifest::{Capability, Manifest};
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
    workers: Arc<ExtensionWorkers>,
    active: OnceLock<ActiveExtension>,
}

impl ScriptExtension {
    /// The extension in a folder whose manifest was read from it. Nothing runs yet.
    ///
    /// # Errors
    /// When the folder has no code to start with, or this program cannot be started as a worker.
    pub fn new(folder: ExtensionFolder, manifest: &Manifest) -> Result<Self, String> {
        let manifest_text = folder.manifest().ok_or("there is no manifest")?.to_owned();
        let entry = folder.entry().ok_or("there is no `index.ts`, which exports `activate(host)`")?;
        let workers = Arc::new(ExtensionWorkers::new(Arc::new(folder), entry)?);
        Ok(Self { manifest_text, version: manifest.version.to_string(), workers, active: OnceLock::new() })
    }

    /// The processes that run its code at the moment. Waits for a call that runs.
    #[must_use]
    pub fn worker_ids(&self) -> Vec<u32> {
        self.workers.worker_ids()
    }
}

impl Extension for ScriptExtension {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.manifest_text)
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let active = ActiveExtension::new(&self.workers, host, &self.version);
            let answer = active.run(Lane::Calls, "start", Vec::new(), ACTIVATE, None).await;
            let answer = answer.map_err(|failure| ExtensionError(failure.message))?;
            let registered: Registered = serde_json::from_value(answer).map_err(ExtensionError::new)?;
            active.register(registered)?;
            // An extension is activated once in its life.
            let _ = self.active.set(active);
            Ok(())
        })
    }

    fn deactivate(&self) -> BoxFuture<'_, Result<(), ExtensionError>> {
        Box::pin(async move {
            let Some(active) = self.active.get() else { return Ok(()) };
            for lane in [Lane::Calls, Lane::Hooks] {
                if self.workers.is_running(lane) {
                    let stopped = active.run(lane, "stop", Vec::new(), DEACTIVATE, None).await;
                    stopped.map_err(|failure| ExtensionError(failure.message))?;
                }
            }
            Ok(())
        })
    }
}

/// An extension with its host: what the kernel's registrations hold.
#[derive(Clone)]
struct ActiveExtension {
    workers: Arc<ExtensionWorkers>,
    host: Host,
    calls: HostCalls,
    /// What the code is told of its surroundings.
    given: Value,
}

impl ActiveExtension {
    fn new(workers: &Arc<ExtensionWorkers>, host: Host, version: &str) -> Self {
        let given = json!({
            "id": host.extension(),
            "version": version,
            "workdir": host.folders().workdir,
            "settings": settings_object(&host.settings()),
        });
        Self { workers: Arc::clone(workers), calls: HostCalls::new(host.clone()), host, given }
    }

    async fn run(
        &self,
        lane: Lane,
        function: &'static str,
        arguments: Vec<Value>,
        time: Duration,
        tool: Option<ToolContext>,
    ) -> Result<Value, CallFailure> {
        let arguments = std::iter::once(self.given.clone()).chain(arguments).collect();
        self.workers.run(WorkerCall { lane, function, arguments, time, tool }, &self.calls).await
    }

    /// Runs a handler of a hook.
    async fn handle(&self, kind: &'static str, at: usize, value: Value, time: Duration) -> Result<Value, HandlerError> {
        let arguments = vec![kind.into(), at.into(), value];
        let answer = self.run(Lane::Hooks, "invoke", arguments, time, None).await;
        answer.map_err(|failure| HandlerError(failure.message))
    }

    fn register(&self, registered: Registered) -> Result<(), ExtensionError> {
        let effect = self.effect();
        for tool in registered.tools {
            let tool = ScriptTool::new(self.clone(), tool, effect).map_err(ExtensionError)?;
            self.host.define_tool(Arc::new(tool)).map_err(ExtensionError::new)?;
        }
        for command in registered.commands {
            self.host.define_command(self.command(command)).map_err(ExtensionError::new)?;
        }
        let host = self.host.dynamic();
        for (at, event) in registered.events.iter().enumerate() {
            let active = self.clone();
            let handler = Arc::new(move |payload: Value| -> BoxFuture<'static, Result<(), HandlerError>> {
                let active = active.clone();
                Box::pin(async move { active.handle("event", at, payload, EVENT).await.map(drop) })
            });
            host.on(&event.id().map_err(ExtensionError)?, handler).map_err(ExtensionError::new)?;
        }
        for (at, filter) in registered.filters.iter().enumerate() {
            let active = self.clone();
            let handler = Arc::new(move |value: Value| -> BoxFuture<'static, Result<Option<Value>, HandlerError>> {
                let active = active.clone();
                let changed = async move { active.handle("filter", at, value, FILTER).await };
                Box::pin(async move { changed.await.map(|value| Some(value).filter(|value| !value.is_null())) })
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
        if reaches_out { Effect::Changes } else { Effect::Looks }
    }

    fn command(&self, command: RegisteredCommand) -> Command {
        let (active, name) = (self.clone(), command.name.clone());
        let respond = Arc::new(move |request: Value| -> BoxFuture<'static, Result<Value, HandlerError>> {
            let (active, name) = (active.clone(), name.clone());
            let arguments = request.get("args").cloned().unwrap_or_else(|| json!([]));
            Box::pin(async move {
                let arguments = vec!["command".into(), name.into(), arguments];
                let answer = active.run(Lane::Calls, "invoke", arguments, COMMAND, None).await;
                answer.map_err(|failure| HandlerError(failure.message))
            })
        });
        Command { name: command.name, summary: command.description, respond }
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

    /// What the model is told of a failure; what a worker did wrong is also counted.
    fn failed(&self, failure: &CallFailure) -> ToolError {
        if let Some(kind) = failure.fault {
            let place = format!("tool {}", self.spec.name);
            self.active.host.dynamic().report_fault(&place, kind, &failure.message);
        }
        ToolError(format!("The extension `{}` failed: {}", self.active.host.extension(), failure.message))
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
            let arguments = vec!["tool".into(), self.spec.name.clone().into(), Value::Object(arguments), told];
            let answer = self.active.run(Lane::Calls, "invoke", arguments, self.time, Some(context)).await;
            let answer = answer.map_err(|failure| self.failed(&failure))?;
            Ok(ToolOutput::text(answer.as_str().unwrap_or_default()))
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
