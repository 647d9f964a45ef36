//! `dispatch trace`: asks the ledger of intents.

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
use dispatch_os::OsError;
use ext_intents::layout::{FOLDER, Layout};
use ext_intents::ledger::Ledger;
use ext_intents::query::git::Git;
use ext_intents::query::history::Change;
use std::path::Path;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum TraceCommand {
    /// Show what was changed, by whom and for which intent, newest last
    Log(log::LogRequest),
    /// Prove that the ledger is as it was written
    #[command(after_help = verify::HELP)]
    Verify(verify::VerifyRequest),
    /// Say of each line of a file which intent it was written for
    Blame(blame::BlameRequest),
    /// Find the changed lines that no intent covers
    #[command(after_help = check::HELP)]
    Check(check::CheckRequest),
    /// Print the ledger in a form that other programs read
    Export(export::ExportRequest),
    /// Make one page for people: intents, files, activity, escapes
    Report(report::ReportRequest),
    /// Let git name the intents of a commit in its message
    Hook {
        #[command(subcommand)]
        command: hook::HookCommand,
    },
    /// Add the intents of what is staged to a commit message; for the hook
    Trailers(trailers::TrailersRequest),
}

pub(crate) fn run(loaded: &Loaded, command: &TraceCommand, printer: &Printer) -> Result<Status, Failure> {
    let place = Place::of(loaded);
    match command {
        TraceCommand::Log(request) => log::run(&place, request, printer),
        TraceCommand::Verify(request) => verify::run(&place, request, printer),
        TraceCommand::Blame(request) => blame::run(&place, request, printer),
        TraceCommand::Check(request) => check::run(&place, request, printer),
        TraceCommand::Export(request) => export::run(&place, request, printer),
        TraceCommand::Report(request) => report::run(&place, request, printer),
        TraceCommand::Hook { command } => hook::run(&place, command, printer),
        TraceCommand::Trailers(request) => trailers::run(&place, request, printer),
    }
}

/// The workspace that is asked about.
struct Place {
    layout: Layout,
    /// Where the command was started, for paths on the command line.
    start: std::path::PathBuf,
}

impl Place {
    fn of(loaded: &Loaded) -> Self {
        let found = Workspace::of(loaded).root;
        let of_intents = loaded.start.ancestors().find(|folder| folder.join(FOLDER).is_dir());
        let root = of_intents.map_or(found, Path::to_path_buf);
        // The ledger has resolved paths, so the root must be one.
        let root = root.canonicalize().unwrap_or(root);
        Self { layout: Layout::new(&root), start: loaded.start.clone() }
    }

    fn ledger(&self) -> Ledger {
        Ledger::open(&self.layout)
    }

    fn git(&self) -> Option<Git> {
        Git::find(&self.layout.root)
    }

    fn required_git(&self) -> Result<Git, Failure> {
        self.git().ok_or_else(|| {
            Failure::usage(format!("{} is in no git repository", self.layout.root.display()))
                .hint("run it in a repository, with git installed")
        })
    }

    /// The names that a file had before. Git is asked only if the ledger does not know how it began.
    fn former_names(&self, path: &str, known: &[Change]) -> Vec<String> {
        let first = known.iter().find_map(|change| change.entry.file.as_ref());
        if first.is_some_and(|file| file.pre_hash.is_none()) {
            return Vec::new();
        }
        self.git().map(|git| git.former_names(path)).unwrap_or_default()
    }

    fn unreadable(&self, error: std::io::Error) -> Failure {
        Failure::from(OsError::Io { action: "read", path: self.layout.ledger_file(), source: error })
    }

    /// A path of the command line as the ledger spells it.
    fn relative(&self, path: &Path) -> Result<String, Failure> {
        let root = &self.layout.root;
        let asked = self.start.join(path);
        // The file may be gone, but its folder tells where it was.
        let resolved = asked.canonicalize().or_else(|_| {
            let folder = asked.parent().unwrap_or(&asked).canonicalize()?;
            Ok::<_, std::io::Error>(folder.join(asked.file_name().unwrap_or_default()))
        });
        let resolved = resolved.unwrap_or_else(|_| dispatch_os::paths::normalise_path(&asked));
        let inside = resolved.strip_prefix(root).map_err(|_| {
            Failure::usage(format!("{} is not in {}", path.display(), root.display()))
                .hint("name a file of the workspace, or the workspace with --project")
        })?;
        let parts: Option<Vec<&str>> = inside.components().map(|part| part.as_os_str().to_str()).collect();
        parts.map(|parts| parts.join("/")).ok_or_else(|| Failure::usage(format!("{} is no text", path.display())))
    }
}
