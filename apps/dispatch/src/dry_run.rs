//! Runs the hook pipeline without effects, for commands that only ask what it would decide.

use std::path::PathBuf;

use crate::compose;
use crate::failure::Failure;
use crate::settings::Loaded;
use dispatch_hook_dialects::dialect::{self, Hints};
use dispatch_hook_module::{Effects, Module, SystemClock};
use dispatch_os::{UserDirs, environment};
use ext_hook_pipeline::contract::{Invocation, RuleTrust, Unwatched, UserScripts};

/// Everything that an invocation borrows.
pub(crate) struct DryRunPipeline {
    modules: Vec<&'static dyn Module>,
    scripts: UserScripts,
    user: UserDirs,
    trust_file: PathBuf,
    hints: Hints,
    home: Option<String>,
    clock: SystemClock,
}

impl DryRunPipeline {
    /// As the user's hook process would start in this folder, without its caches.
    pub(crate) fn new(loaded: &Loaded) -> Self {
        let variable = |name: &str| environment::variable(name).ok().flatten();
        Self {
            modules: compose::guards(),
            scripts: UserScripts::approved_by(loaded.trust_file.clone()),
            user: loaded.dirs.clone(),
            trust_file: loaded.trust_file.clone(),
            hints: Hints::collect(variable).with_process_cwd(loaded.start.to_string_lossy()),
            home: variable("HOME"),
            clock: SystemClock::start(),
        }
    }

    /// An invocation on this input that writes nothing.
    pub(crate) fn dry_run<'a>(&'a self, stdin: &'a [u8]) -> Invocation<'a> {
        Invocation {
            host: None,
            event: None,
            stdin,
            hints: &self.hints,
            home: self.home.as_deref(),
            user: Some(&self.user),
            trust: RuleTrust::File(&self.trust_file),
            root: None,
            manifest: None,
            config: None,
            modules: &self.modules,
            scripts: Some(&self.scripts),
            clock: &self.clock,
            watch: &Unwatched,
            effects: Effects::DryRun,
        }
    }

    /// Begins the time of the next event.
    pub(crate) fn restart_clock(&mut self) {
        self.clock = SystemClock::start();
    }

    pub(crate) fn hints(&self) -> &Hints {
        &self.hints
    }

    pub(crate) fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }
}

/// Refuses an unknown host and names the known ones.
pub(crate) fn known_host(host: Option<&str>) -> Result<(), Failure> {
    match host {
        Some(name) if dialect::by_name(name).is_none() => {
            let known: Vec<&str> = dialect::ALL.into_iter().map(|dialect| dialect.id()).collect();
            Err(Failure::usage(format!("unknown host `{name}`")).hint(format!("expected one of {}", known.join(", "))))
        }
        _ => Ok(()),
    }
}
