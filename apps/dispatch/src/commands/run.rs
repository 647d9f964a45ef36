//! `dispatch run`: a command that an extension adds.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use dispatch_contracts::contribution::Command;
use dispatch_contracts::extension::Extension;
use dispatch_contracts::suggest::nearest;
use dispatch_kernel::host::Owned;
use dispatch_kernel::services::command_line::answer_text;
use serde_json::json;
use std::sync::Arc;

#[derive(Debug, clap::Args)]
pub(crate) struct RunRequest {
    /// The command; without it, all commands are listed
    name: Option<String>,
    /// What the command is called with
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    request: &RunRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    let running = Running::start(loaded, extensions, Threads::One)?;
    let commands = running.host().commands();
    let outcome = match &request.name {
        None => Ok(listed(&commands)),
        Some(name) => find(&commands, name).and_then(|command| {
            let answer = running.block_on((command.respond)(json!({ "args": request.args })));
            answer.map(|answer| answer_text(&answer)).map_err(|error| Failure::of(Status::Internal, &error))
        }),
    };
    running.shutdown();
    let text = outcome?;
    if !text.is_empty() {
        printer.out(&text);
    }
    Ok(Status::Done)
}

pub(super) fn find(commands: &[Owned<Command>], name: &str) -> Result<Command, Failure> {
    if let Some(found) = commands.iter().find(|command| command.name == name) {
        return Ok(found.item.clone());
    }
    let failure = Failure::usage(format!("no active extension has a command `{name}`"));
    Err(match nearest(name, commands.iter().map(|command| command.name.as_str())) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint("`dispatch run` lists the commands, `dispatch ext list` the extensions"),
    })
}

fn listed(commands: &[Owned<Command>]) -> String {
    if commands.is_empty() {
        return "no extension adds a command".to_owned();
    }
    let row =
        |command: &Owned<Command>| vec![command.name.clone(), command.item.summary.clone(), command.owner.to_string()];
    crate::printer::table(&commands.iter().map(row).collect::<Vec<_>>())
}
