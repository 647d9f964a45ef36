//! The pipeline as an extension of our own agent: the same modules, rules and log behind the kernel's hooks.

mod answered;
mod conversations;
mod events;
mod verdict;
mod worker;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dispatch_contracts::BoxFuture;
use dispatch_contracts::extension::{Extension, ExtensionError};
use dispatch_contracts::harness::Harness;
use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::hooks::{
    REQUEST_BEFORE, RequestBefore, TOOL_AFTER, TOOL_BEFORE, TURN_SEALED, ToolAfter, ToolBefore, TurnSealed,
};
use dispatch_contracts::host::Host;
use dispatch_hook_module::service::{HOOK_MODULES, HookModules, SharedModule};
use dispatch_hook_module::{HookEvent, Module};
use dispatch_os::threads::KeptThreads;

use crate::modules::native_modules;
use crate::run::Outcome;
use conversations::Conversations;

/// Where modules come from; asked on the thread that runs them.
pub(crate) type ModuleSource = fn() -> Vec<&'static dyn Module>;

/// After other guards, so that what is judged is what will run.
const GUARD_PRIORITY: i32 = -100;
/// After other handlers, so that what is recorded is what the model will read.
const RESULT_PRIORITY: i32 = -100;
const REQUEST_PRIORITY: i32 = 0;

/// The extension with the modules of this crate.
#[must_use]
pub fn extension() -> Arc<dyn Extension> {
    extension_with(native_modules)
}

/// The extension with these native modules.
#[must_use]
pub fn extension_with(modules: ModuleSource) -> Arc<dyn Extension> {
    Arc::new(Pipeline { modules })
}

struct Pipeline {
    modules: ModuleSource,
}

impl Extension for Pipeline {
    fn manifest(&self) -> Cow<'_, str> {
        Cow::Borrowed(include_str!("../manifest.json"))
    }

    fn harness(&self) -> Harness {
        dispatch_contracts::harness!()
    }

    fn activate(&self, host: Host) -> BoxFuture<'_, Result<(), ExtensionError>> {
        let modules = Arc::new(ModuleList { own: self.modules, added: Mutex::default() });
        let service = Arc::new(PipelineService {
            modules,
            host: host.clone(),
            threads: KeptThreads::new("hook pipeline"),
            conversations: Mutex::default(),
        });
        Box::pin(std::future::ready(register(&host, &service).map_err(ExtensionError::new)))
    }
}

fn register(host: &Host, service: &Arc<PipelineService>) -> Result<(), dispatch_contracts::host::HostError> {
    host.provide(&HOOK_MODULES, Arc::clone(&service.modules) as Arc<dyn HookModules>)?;
    let before = Arc::clone(service);
    host.filter(&TOOL_BEFORE, GUARD_PRIORITY, move |value| {
        let service = Arc::clone(&before);
        async move { service.before_tool(value).await }
    })?;
    let after = Arc::clone(service);
    host.filter(&TOOL_AFTER, RESULT_PRIORITY, move |value| {
        let service = Arc::clone(&after);
        async move { service.after_tool(value).await }
    })?;
    let request = Arc::clone(service);
    host.filter(&REQUEST_BEFORE, REQUEST_PRIORITY, move |value| {
        let service = Arc::clone(&request);
        async move { service.before_request(value).await }
    })?;
    let sealed = Arc::clone(service);
    host.on(&TURN_SEALED, move |value| {
        let service = Arc::clone(&sealed);
        async move { service.turn_sealed(&value).await }
    })?;
    Ok(())
}

/// The modules of this crate, and those of other extensions.
struct ModuleList {
    own: ModuleSource,
    added: Mutex<Vec<SharedModule>>,
}

impl ModuleList {
    fn all(&self) -> Vec<&'static dyn Module> {
        let added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let added = added.iter().map(|module| *module as &'static dyn Module);
        (self.own)().into_iter().chain(added).collect()
    }
}

impl HookModules for ModuleList {
    fn add(&self, module: SharedModule) {
        let is_known = self.all().iter().any(|known| known.spec().name == module.spec().name);
        if !is_known {
            self.added.lock().unwrap_or_else(PoisonError::into_inner).push(module);
        }
    }
}

/// What the handlers share.
struct PipelineService {
    modules: Arc<ModuleList>,
    host: Host,
    threads: KeptThreads,
    conversations: Mutex<Conversations>,
}

impl PipelineService {
    /// `PreToolUse`: refuses, changes or lets pass.
    async fn before_tool(&self, mut value: ToolBefore) -> Result<ToolBefore, HandlerError> {
        if value.denied.is_some() {
            return Ok(value);
        }
        let outcome = self.submit(events::before_tool(&value)?).await?;
        let context = verdict::apply(&outcome, &mut value)?;
        if value.denied.is_none() {
            self.conversations().keep_for_call(&value.turn, &value.call.id, context);
        }
        Ok(value)
    }

    /// `PostToolUse`: records the result, and adds what the model should read with it.
    async fn after_tool(&self, mut value: ToolAfter) -> Result<ToolAfter, HandlerError> {
        let mut notes = self.conversations().take_for_call(&value.turn, &value.call.id);
        let outcome = self.submit(events::after_tool(&value)?).await?;
        if let Some(text) = verdict::new_result(&outcome) {
            value.result.text = text;
        }
        notes.extend(verdict::texts(&outcome));
        for note in notes {
            value.result.text.push_str("\n\n[hook pipeline] ");
            value.result.text.push_str(&note);
        }
        Ok(value)
    }

    /// `SessionStart` and `UserPromptSubmit`, at the first request of a session and of a turn. The start
    /// of a turn is observed and not waited for, and does not hold the prompt; its first request does.
    async fn before_request(&self, mut value: RequestBefore) -> Result<RequestBefore, HandlerError> {
        let entered = self.conversations().enter(&value.turn);
        let mut fired = Vec::new();
        if let Some(left) = &entered.left {
            fired.push(events::stop(left)?);
        }
        if entered.is_new_session {
            fired.push(events::session_start(&value)?);
        }
        if entered.is_new_turn {
            fired.push(events::prompt(&value)?);
        }
        for event in fired {
            let outcome = self.submit(event).await?;
            self.conversations().note(&value.turn, verdict::texts(&outcome));
        }
        value.request.system.extend(self.conversations().notes(&value.turn));
        Ok(value)
    }

    /// `Stop`: nothing can hold the turn any more, so an objection is for the next one to read.
    async fn turn_sealed(&self, value: &TurnSealed) -> Result<(), HandlerError> {
        if self.conversations().close(&value.turn) {
            let outcome = self.submit(events::stop(&value.turn)?).await?;
            self.conversations().note(&value.turn, verdict::texts(&outcome));
        }
        Ok(())
    }

    async fn submit(&self, event: HookEvent) -> Result<Outcome, HandlerError> {
        worker::submit(&self.threads, Arc::clone(&self.modules), self.host.clone(), event).await
    }

    fn conversations(&self) -> MutexGuard<'_, Conversations> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
