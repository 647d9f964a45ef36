//! `dispatch completions`: a script that teaches a shell our commands.

use crate::app::Status;
use crate::args::Args;
use crate::failure::Failure;
use crate::printer::Printer;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

pub(crate) fn run(shell: Shell, printer: &Printer) -> Result<Status, Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Args::command(), "dispatch", &mut script);
    printer.raw(&script);
    Ok(Status::Done)
}
