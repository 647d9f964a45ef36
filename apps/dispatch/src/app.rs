//! From arguments to exit status: parse, load settings, run the command, report.

use crate::args::{Args, Command};
use crate::commands::init::HOOK_PROGRAM;
use crate::extension_choice::settings_schemas;
use crate::external_extensions::joined;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use crate::{commands, compose};
use dispatch_contracts::extension::Extension;
use dispatch_os::environment;
use std::process::ExitCode;
use std::sync::Arc;

/// The application with its extensions.
pub struct App {
    extensions: Vec<Arc<dyn Extension>>,
}

impl Default for App {
    fn default() -> Self {
        Self::new()
    }
}

impl App {
    /// The application with the bundled extensions.
    pub fn new() -> Self {
        Self { extensions: compose::bundled() }
    }

    /// Adds an extension of your own.
    #[must_use]
    pub fn extension(mut self, extension: Arc<dyn Extension>) -> Self {
        self.extensions.push(extension);
        self
    }

    /// Runs the command that the process was started with.
    pub fn run(self) -> ExitCode {
        // A host must get its answer whatever it passes, so this command has no usage errors.
        if environment::called_as().is_some_and(|name| name == HOOK_PROGRAM) {
            commands::hook::run(environment::arguments());
        }
        if environment::arguments().next().is_some_and(|command| command == "hook") {
            commands::hook::run(environment::arguments().skip(1));
        }
        let args = Args::from_process();
        let printer = Printer::new();
        match self.execute(args, &printer) {
            Ok(status) => status.into(),
            Err(failure) => {
                printer.failure(&failure);
                failure.status.into()
            }
        }
    }

    fn execute(self, args: Args, printer: &Printer) -> Result<Status, Failure> {
        match args.command {
            Command::Completions { shell } => return commands::completions::run(shell, printer),
            Command::Schema(ref request) => return commands::schema::run(request, printer),
            Command::ScriptWorker => return commands::script_worker::run(),
            _ => {}
        }
        let mut schemas = settings_schemas(&self.extensions);
        let loaded = Loaded::read(&args.common, &mut schemas, self.extensions.clone())?;
        if !matches!(args.command, Command::Doctor { .. }) {
            loaded.require_valid()?;
        }
        let (extensions, replaced) = joined(self.extensions, &loaded.externals);
        match args.command {
            Command::Chat(request) => commands::chat::run(&loaded, extensions, &request, printer),
            Command::Up(request) => commands::up::run(&loaded, extensions, &request, printer),
            Command::Session { command } => commands::session::run(&loaded, extensions, &command, printer),
            Command::Storage { command } => commands::storage::run(&loaded, extensions, &command, printer),
            Command::Queue { command } => commands::queue::run(&loaded, extensions, &command, printer),
            Command::Approvals { command } => commands::approvals::run(&loaded, extensions, &command, printer),
            Command::Permissions { command } => commands::permissions::run(&loaded, extensions, &command, printer),
            Command::Serve(request) => commands::serve::run(&loaded, extensions, &request, printer),
            Command::Acp => commands::acp::run(&loaded, extensions, printer),
            Command::Watch(request) => commands::watch::run(&loaded, extensions, &request, printer),
            Command::Lsp(_) => commands::lsp::run(&loaded, extensions),
            Command::Service { command } => commands::service::run(&loaded, &command, printer),
            Command::Event { command } => commands::event::run(&loaded, extensions, &command, printer),
            Command::Person { command } => commands::person::run(&loaded, extensions, &command, printer),
            Command::Channel { command } => commands::channel::run(&loaded, extensions, &command, printer),
            Command::Route { command } => commands::route::run(&loaded, extensions, &command, printer),
            Command::Outbox { command } => commands::outbox::run(&loaded, extensions, &command, printer),
            Command::GitEvent(request) => commands::git_event::run(&loaded, extensions, &request, printer),
            Command::Init(request) => commands::init::run(&loaded, &request, printer),
            Command::Check(request) => commands::check::run(&loaded, &request, printer),
            Command::Canary(request) => commands::canary::run(&loaded, &request, printer),
            Command::Doctor { json } => commands::doctor::run(&loaded, extensions, json.into(), printer),
            Command::Auth { command } => commands::auth::run(&loaded, extensions, &command, printer),
            Command::Config { command } => commands::config::run(&loaded, &schemas, &command, printer),
            Command::Ext { command } => commands::ext::run(&loaded, extensions, &replaced, &command, printer),
            Command::Run(request) => commands::run::run(&loaded, extensions, &request, printer),
            Command::Events(request) => commands::events::run(&loaded, &request, printer),
            Command::Why(request) => commands::why::run(&loaded, &request, printer),
            Command::Explain(request) => commands::explain::run(&loaded, &request, printer),
            Command::Rules { command } => commands::rules::run(&loaded, &command, printer),
            Command::Replay(request) => commands::replay::run(&loaded, &request, printer),
            Command::AllowOnce(request) => commands::allow_once::run(&loaded, &request, printer),
            Command::State { command } => commands::state::run(&loaded, &command, printer),
            Command::Phase { command } => commands::phase::run(&loaded, &command, printer),
            Command::Plan { command } => commands::plan::run(&loaded, &command, printer),
            Command::Intent { command } => commands::intent::run(&loaded, &command, printer),
            Command::Mcp(request) => commands::mcp::run(loaded, &request, printer),
            Command::Memory { command } => commands::memory::run(&loaded, &command, printer),
            Command::Module { command } => commands::module::run(&loaded, &command, printer),
            Command::Trace { command } => commands::trace::run(&loaded, &command, printer),
            Command::Trust(request) => commands::trust::run(&loaded, &request, printer),
            Command::WorkspaceHooks { command } => commands::workspace_hooks::run(&loaded, &command, printer),
            Command::Runs { command } => commands::runs::run(&loaded, extensions, &command, printer),
            Command::Completions { .. } | Command::Hook(_) | Command::Schema(_) | Command::ScriptWorker => {
                Ok(Status::Done)
            }
        }
    }
}

/// What the process tells its caller; scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// 0: done, or the answer is yes.
    Done,
    /// 1: the answer is no: a check failed.
    No,
    /// 2: the command line was wrong.
    Usage,
    /// 3: a configuration file or setting is wrong.
    Configuration,
    /// 4: something failed that should not have.
    Internal,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::No => 1,
            Status::Usage => 2,
            Status::Configuration => 3,
            Status::Internal => 4,
        })
    }
}
