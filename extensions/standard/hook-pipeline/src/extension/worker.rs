//! Runs the pipeline on threads beside the executor: it reads and writes files, and a module may not come back.
//!
//! The kernel's ports start futures only, so threads are started here. A turn waits for it no longer
//! than its filter allows, and the fault budget ends an extension whose threads keep hanging.

use std::sync::Arc;

use dispatch_contracts::hook::HandlerError;
use dispatch_contracts::host::Host;
use dispatch_contracts::permission::PermissionRequest;
use dispatch_hook_dialects::dialect::Hints;
use dispatch_hook_module::{Effects, HookEvent, Module, SystemClock};
use dispatch_os::threads::KeptThreads;
use dispatch_os::{UserDirs, environment};
use futures_channel::oneshot;

use super::ModuleList;
use super::answered::{Answered, AnsweredScripts};
use crate::rule_trust::RuleTrust;
use crate::run::{Invocation, Outcome, submit as run};
use crate::user_scripts::UserScripts;
use crate::watch::Unwatched;

/// Handles one event off the executor. A panic of the pipeline itself is an error, never a "go on".
pub(super) async fn submit(
    threads: &KeptThreads,
    modules: Arc<ModuleList>,
    host: Host,
    event: HookEvent,
) -> Result<Outcome, HandlerError> {
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        // Whoever waited may have given up; the event is on record all the same.
        let _ = sender.send(handle(&modules, &host, &event));
    };
    threads.run(work).map_err(|error| HandlerError(format!("cannot start a thread for the pipeline: {error}")))?;
    receiver.await.map_err(|_| HandlerError("the pipeline broke".to_owned()))
}

fn handle(modules: &ModuleList, host: &Host, event: &HookEvent) -> Outcome {
    let rules = |request: &PermissionRequest| host.permission(request);
    let answered: Vec<_> = modules.all().into_iter().map(|inner| Answered { inner, rules: &rules }).collect();
    let modules: Vec<&dyn Module> = answered.iter().map(|module| module as &dyn Module).collect();
    let scripts = AnsweredScripts { inner: UserScripts::default(), rules: &rules };
    let home = environment::variable("HOME").ok().flatten();
    let user = UserDirs::discover().ok();
    let trust_file = user.as_ref().map(|user| user.data.join("trust.json"));
    run(
        &Invocation {
            host: None,
            event: None,
            stdin: b"",
            hints: &Hints::default(),
            home: home.as_deref(),
            user: user.as_ref(),
            trust: trust_file.as_deref().map_or(RuleTrust::Nothing, RuleTrust::File),
            root: None,
            manifest: None,
            config: None,
            modules: &modules,
            scripts: Some(&scripts),
            clock: &SystemClock::start(),
            watch: &Unwatched,
            effects: Effects::Commit,
        },
        event,
    )
}
