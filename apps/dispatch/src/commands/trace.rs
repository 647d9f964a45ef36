//! `dispatch trace`: queries the ledger of intents.

mod archive;
mod blame;
mod check;
mod export;
mod hook;
mod log;
mod output;
mod report;
mod trailers;
mod verify;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_os::files;
use ext_intents::contract::IntentWorkspace;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum TraceCommand {
    /// Show the entries of the ledger, newest last
    Log(log::LogRequest),
    /// Verify that the ledger is as it was written
    #[command(after_help = verify::HELP)]
    Verify(verify::VerifyRequest),
    /// Show the intent that each line of a file was written for
    Blame(blame::BlameRequest),
    /// Find the changed lines that no intent covers
    #[command(after_help = check::HELP)]
    Check(check::CheckRequest),
    /// Move the entries of ended sessions out of the ledger
    #[command(after_help = archive::HELP)]
    Archive(archive::ArchiveRequest),
    /// Export the ledger for other programs
    Export(export::ExportRequest),
    /// Write a page about intents, files, activity and escapes, or a summary per intent
    Report(report::ReportRequest),
    /// Install or remove the git hook that names the intents of a commit in its message
    Hook {
        #[command(subcommand)]
        command: hook::HookCommand,
    },
    /// Add the intents of the staged changes to a commit message; the git hook runs this
    Trailers(trailers::TrailersRequest),
}

pub(crate) fn run(loaded: &Loaded, command: &TraceCommand, printer: &Printer) -> Result<Status, Failure> {
    let workspace = TraceWorkspace::of(loaded);
    match command {
        TraceCommand::Log(request) => log::run(&workspace, request, printer),
        TraceCommand::Verify(request) => verify::run(&workspace, request, printer),
        TraceCommand::Blame(request) => blame::run(&workspace, request, printer),
        TraceCommand::Check(request) => check::run(&workspace, request, printer),
        TraceCommand::Archive(request) => archive::run(loaded, &workspace, request, printer),
        TraceCommand::Export(request) => export::run(&workspace, request, printer),
        TraceCommand::Report(request) => report::run(&workspace, request, printer),
        TraceCommand::Hook { command } => hook::run(&workspace, command, printer),
        TraceCommand::Trailers(request) => trailers::run(&workspace, request, printer),
    }
}

/// The workspace whose ledger is queried.
struct TraceWorkspace {
    intents: IntentWorkspace,
    /// Where the command was started, for paths on the command line.
    start: PathBuf,
}

impl TraceWorkspace {
    fn of(loaded: &Loaded) -> Self {
        let found = IntentWorkspace::find(&loaded.start);
        let root = found.map_or_else(|| Workspace::of(loaded).root, |found| found.root().to_path_buf());
        // The ledger has resolved paths, so the root must be one.
        let root = files::canonicalize(&root).unwrap_or(root);
        Self { intents: IntentWorkspace::at(&root), start: loaded.start.clone() }
    }

    /// A path of the command line as the ledger writes it.
    fn relative(&self, path: &Path) -> Result<String, Failure> {
        let root = self.intents.root();
        let asked = self.start.join(path);
        // The file may be gone, but its folder shows where it was.
        let resolved = files::canonicalize(&asked).or_else(|_| {
            let folder = files::canonicalize(asked.parent().unwrap_or(&asked))?;
            Ok::<_, std::io::Error>(folder.join(asked.file_name().unwrap_or_default()))
        });
        let resolved = resolved.unwrap_or_else(|_| dispatch_os::paths::normalise_path(&asked));
        let inside = resolved.strip_prefix(root).map_err(|_| {
            Failure::usage(format!("{} is not in {}", path.display(), root.display()))
                .hint("name a file of the workspace, or the workspace with --project")
        })?;
        let parts: Option<Vec<&str>> = inside.components().map(|part| part.as_os_str().to_str()).collect();
        parts.map(|parts| parts.join("/")).ok_or_else(|| Failure::usage(format!("{} is not UTF-8", path.display())))
    }
}
