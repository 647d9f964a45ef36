//! `dispatch service`: the workspace stays watched after a restart, as a service of the user's own system.

mod unit;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use dispatch_os::digest::{hex, sha256};
use dispatch_os::files::{self, ReplaceOptions, replace_with};
use dispatch_os::process::ChildSpec;
use dispatch_os::{OsError, environment};
use ext_workspace_hooks::contract::{Workers, workspace_of};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use unit::ServiceUnit;

/// How long the manager of services may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of the hash that tells the services of two workspaces apart.
const NAME_BYTES: usize = 4;
/// What a manager needs to be found by its own program.
const PASSED_ON: [&str; 3] = ["XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_CONFIG_HOME"];

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ServiceCommand {
    /// Write the unit of this workspace and start it
    Install {
        /// Write the unit and do not start it
        #[arg(long)]
        no_start: bool,
        #[command(flatten)]
        manager: ManagerChoice,
    },
    /// Print whether the unit is installed and whether the workspace is watched
    #[command(after_help = "Exit status: 0 the workspace is watched, 1 it is not.")]
    Status {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        manager: ManagerChoice,
    },
    /// Stop the service and remove its unit
    Remove {
        #[command(flatten)]
        manager: ManagerChoice,
    },
}

#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct ManagerChoice {
    /// Which manager of services the unit is for; default: that of this system
    #[arg(long, value_enum, value_name = "NAME")]
    manager: Option<ServiceManager>,
}

/// What keeps services of a user running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ServiceManager {
    /// systemd, as a unit of the user
    Systemd,
    /// launchd of macOS, as an agent of the user
    Launchd,
}

impl ManagerChoice {
    fn get(self) -> ServiceManager {
        let of_system = if cfg!(target_os = "macos") { ServiceManager::Launchd } else { ServiceManager::Systemd };
        self.manager.unwrap_or(of_system)
    }
}

pub(crate) fn run(loaded: &Loaded, command: &ServiceCommand, printer: &Printer) -> Result<Status, Failure> {
    match command {
        ServiceCommand::Install { no_start, manager } => {
            Service::of(loaded, manager.get())?.install(*no_start, printer)
        }
        ServiceCommand::Status { json, manager } => {
            Service::of(loaded, manager.get())?.status(loaded, (*json).into(), printer)
        }
        ServiceCommand::Remove { manager } => Service::of(loaded, manager.get())?.remove(printer),
    }
}

/// The service of one workspace.
struct Service {
    manager: ServiceManager,
    workspace: PathBuf,
    name: String,
    file: PathBuf,
}

impl Service {
    fn of(loaded: &Loaded, manager: ServiceManager) -> Result<Self, Failure> {
        let workspace = workspace_of(&loaded.start);
        let hash = hex(sha256(workspace.as_os_str().as_encoded_bytes()).into_iter().take(NAME_BYTES));
        let name = match manager {
            ServiceManager::Systemd => format!("dispatch-watch-{hash}.service"),
            ServiceManager::Launchd => format!("dispatch.watch.{hash}"),
        };
        let folder = folder(manager)?;
        let file = match manager {
            ServiceManager::Systemd => folder.join(&name),
            ServiceManager::Launchd => folder.join(format!("{name}.plist")),
        };
        Ok(Self { manager, workspace, name, file })
    }

    fn install(&self, no_start: bool, printer: &Printer) -> Result<Status, Failure> {
        let unit = ServiceUnit::of(&self.workspace, environment::current_program()?)?;
        let text = match self.manager {
            ServiceManager::Systemd => unit.systemd(),
            ServiceManager::Launchd => unit.launchd(&self.name),
        };
        if let Some(folder) = self.file.parent() {
            let io = |source| OsError::Io { action: "create", path: folder.to_path_buf(), source };
            files::create_dir_all(folder).map_err(io)?;
        }
        replace_with(&self.file, text.as_bytes(), ReplaceOptions::default())?;
        printer.out(&format!("wrote {}", self.file.display()));
        if no_start {
            printer.note(&format!("hint: start it with `{}`", self.starting().join(" ")));
            return Ok(Status::Done);
        }
        if self.manager == ServiceManager::Systemd {
            self.ask(&["systemctl", "--user", "daemon-reload"])?;
        }
        self.ask(&self.starting())?;
        printer.out(&format!("{} is watched now and after each login", self.workspace.display()));
        Ok(Status::Done)
    }

    fn status(&self, loaded: &Loaded, format: Format, printer: &Printer) -> Result<Status, Failure> {
        let watcher = Workers::new(&loaded.dirs.state).watcher(&self.workspace);
        let installed = files::is_file(&self.file);
        let status = if watcher.is_some() { Status::Done } else { Status::No };
        if format == Format::Json {
            printer.json(&json!({
                "workspace": self.workspace, "unit": self.file, "installed": installed, "watchedBy": watcher,
            }))?;
            return Ok(status);
        }
        let unit = if installed { "installed" } else { "not installed" };
        printer.out(&format!("unit: {} ({unit})", self.file.display()));
        printer.out(&match watcher {
            Some(who) => format!("{} is watched by {who}", self.workspace.display()),
            None => format!("nobody watches {}", self.workspace.display()),
        });
        Ok(status)
    }

    fn remove(&self, printer: &Printer) -> Result<Status, Failure> {
        if !files::is_file(&self.file) {
            printer.out(&format!("no service is installed for {}", self.workspace.display()));
            return Ok(Status::No);
        }
        // A manager that does not run has nothing to stop; the file goes in any case.
        let stopped = self.ask(&self.stopping());
        files::remove_file(&self.file).map_err(|source| OsError::Io {
            action: "remove",
            path: self.file.clone(),
            source,
        })?;
        if let Err(failure) = stopped {
            failure.messages.iter().for_each(|message| printer.warn(message));
        }
        printer.out(&format!("removed {}", self.file.display()));
        Ok(Status::Done)
    }

    fn starting(&self) -> Vec<&str> {
        match self.manager {
            ServiceManager::Systemd => vec!["systemctl", "--user", "enable", "--now", &self.name],
            ServiceManager::Launchd => vec!["launchctl", "load", "-w", self.file.to_str().unwrap_or_default()],
        }
    }

    fn stopping(&self) -> Vec<&str> {
        match self.manager {
            ServiceManager::Systemd => vec!["systemctl", "--user", "disable", "--now", &self.name],
            ServiceManager::Launchd => vec!["launchctl", "unload", "-w", self.file.to_str().unwrap_or_default()],
        }
    }

    /// Has the manager's own program do something.
    fn ask(&self, words: &[&str]) -> Result<(), Failure> {
        let Some((program, arguments)) = words.split_first() else { return Ok(()) };
        let child = PASSED_ON.iter().fold(ChildSpec::new(*program), |child, name| child.pass_variable(*name));
        let outcome = child.args(arguments.iter().copied()).timeout(TIMEOUT).run();
        if outcome.succeeded() {
            return Ok(());
        }
        let said = outcome.stderr.text();
        let why = said.lines().next().map(|line| format!(": {line}")).unwrap_or_default();
        Err(Failure::configuration(format!("`{}` failed{why}", words.join(" ")))
            .hint("without a manager of services, `dispatch watch --background` watches until you log out"))
    }
}

/// Where a manager looks for units of the user.
fn folder(manager: ServiceManager) -> Result<PathBuf, Failure> {
    let home = || {
        environment::variable_path("HOME")
            .ok_or_else(|| Failure::configuration("HOME is not set").hint("set it to your home folder"))
    };
    Ok(match manager {
        ServiceManager::Systemd => match environment::variable_path("XDG_CONFIG_HOME") {
            Some(config) => config.join("systemd/user"),
            None => home()?.join(".config/systemd/user"),
        },
        ServiceManager::Launchd => home()?.join("Library/LaunchAgents"),
    })
}
