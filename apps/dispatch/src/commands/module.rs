//! `dispatch module`: making, trying and listing the modules of the hook pipeline.

mod list;
mod template;
mod trial;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use crate::workspace::Workspace;
use std::path::PathBuf;

/// The longest name; it is a folder on every system.
const MAX_NAME_BYTES: usize = 64;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ModuleCommand {
    /// Create a script module with types and tests
    New {
        /// The name of its folder below .ai/hooks/features
        name: String,
        /// Write JavaScript instead of TypeScript
        #[arg(long)]
        js: bool,
    },
    /// Run a script module on an event and print its action, log and time
    Test {
        /// The module
        name: String,
        /// A payload, or {"host", "payload", "expect"}; default: every *.event.json of the module
        #[arg(long, value_name = "FILE")]
        event: Vec<PathBuf>,
        /// The host of the payloads, where the file does not name it
        #[arg(long, value_name = "NAME")]
        host: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// List every module and whether it runs
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(loaded: &Loaded, command: &ModuleCommand, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::of(loaded);
    match command {
        ModuleCommand::New { name, js } => {
            let language = if *js { template::Language::JavaScript } else { template::Language::TypeScript };
            template::make(&workspace, checked(name)?, language, printer)
        }
        ModuleCommand::Test { name, event, host, json } => {
            let request = trial::ModuleTrialRequest {
                name: checked(name)?,
                events: event,
                host: host.as_deref(),
                format: (*json).into(),
            };
            trial::run(loaded, &workspace, &request, printer)
        }
        ModuleCommand::List { json } => list::run(loaded, &workspace, (*json).into(), printer),
    }
}

/// The script modules that the manifest wants and that do not run, with the reason; a critical one refuses every call.
pub(crate) fn not_running(loaded: &Loaded) -> Vec<String> {
    list::not_running(loaded, &Workspace::of(loaded))
}

/// A name that is one folder and nothing else on every system.
fn checked(name: &str) -> Result<&str, Failure> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let fits = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('-');
    if fits {
        return Ok(name);
    }
    Err(Failure::usage(format!("invalid module name `{name}`"))
        .hint("a name has letters, digits, `-` and `_`, at most 64 of them"))
}
