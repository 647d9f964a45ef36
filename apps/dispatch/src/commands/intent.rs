//! `dispatch intent`: declares intents and binds sessions to them.

mod binding;
mod claims;
mod declare;
mod edit;
mod paths;
mod progress;
mod view;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use crate::workspace::Workspace;
use ext_intents::contract::{IntentFileState, IntentSpec, IntentStatus, IntentWorkspace, IntentsError, LoadedIntents};
use std::path::Path;

pub(crate) use binding::{session_id, sid_of};
pub(crate) use view::row_json;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum IntentCommand {
    /// Declare an intent; creates .orchestration/active_intents.yaml if it does not exist
    New(declare::NewRequest),
    /// List the intents
    List {
        /// Include completed and abandoned intents
        #[arg(long)]
        all: bool,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print what an agent is told about an intent
    Show {
        /// The intent
        id: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Edit an intent; without flags, open the intent file in your editor
    Edit(edit::EditRequest),
    /// Bind an agent's session to an intent
    Select {
        /// The intent
        id: String,
        #[command(flatten)]
        session: binding::SessionArgs,
    },
    /// Unbind a session from its intent
    Clear {
        #[command(flatten)]
        session: binding::SessionArgs,
    },
    /// Set an intent to IN_PROGRESS
    Start {
        /// The intent
        id: String,
        /// Reopen the intent if it is completed or abandoned
        #[arg(long)]
        reopen: bool,
    },
    /// Set an intent to COMPLETED
    Complete {
        /// The intent
        id: String,
    },
    /// Set an intent to BLOCKED
    Block {
        /// The intent
        id: String,
    },
    /// Set an intent to ABANDONED
    Abandon {
        /// The intent
        id: String,
    },
    /// List the exclusive claims of sessions, or free one
    Claims(claims::ClaimsRequest),
    /// Print the paths from standard input that match a glob
    Match {
        /// The glob, as minimatch reads it with `dot: true`
        #[arg(allow_hyphen_values = true)]
        pattern: String,
    },
    /// Report problems of the intent file as FILE:LINE:COLUMN: MESSAGE
    Check {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(loaded: &Loaded, command: &IntentCommand, printer: &Printer) -> Result<Status, Failure> {
    if let IntentCommand::Match { pattern } = command {
        return paths::matching(pattern, printer);
    }
    let workspace = Workspace::of(loaded);
    let intents = IntentWorkspace::at(&workspace.root);
    match command {
        IntentCommand::New(request) => declare::new(&intents, request, printer),
        IntentCommand::List { all, json } => view::list(&intents, (*all).into(), (*json).into(), printer),
        IntentCommand::Show { id, json } => view::show(&intents, id, (*json).into(), printer),
        IntentCommand::Edit(request) => edit::run(&intents, request, printer),
        IntentCommand::Select { id, session } => binding::select(&workspace, &intents, id, session, printer),
        IntentCommand::Clear { session } => binding::clear(&workspace, session, printer),
        IntentCommand::Start { id, reopen } => {
            progress::set(&intents, id, IntentStatus::InProgress, (*reopen).into(), printer)
        }
        IntentCommand::Complete { id } => progress::close(&intents, id, IntentStatus::Completed, printer),
        IntentCommand::Block { id } => progress::close(&intents, id, IntentStatus::Blocked, printer),
        IntentCommand::Abandon { id } => progress::close(&intents, id, IntentStatus::Abandoned, printer),
        IntentCommand::Claims(request) => claims::run(&intents, request, printer),
        IntentCommand::Check { json } => view::check(&intents, (*json).into(), printer),
        IntentCommand::Match { .. } => Ok(Status::Done),
    }
}

/// The intents of a workspace that has a valid intent file.
pub(crate) fn declared(workspace: &IntentWorkspace) -> Result<LoadedIntents, Failure> {
    let intents = workspace.load_intents();
    match intents.state {
        IntentFileState::Read => Ok(intents),
        IntentFileState::Absent => Err(Failure::usage(format!("{} does not exist", shown(&workspace.intents_file())))
            .hint("`dispatch intent new NAME --scope GLOB` declares the first intent")),
        IntentFileState::Malformed => {
            let file = shown(&workspace.intents_file());
            let messages = intents.problems.iter().map(|problem| format!("{file}:{problem}")).collect();
            Err(Failure { messages, ..Failure::configuration(String::new()) }
                .hint("fix the file; `dispatch intent check` shows its problems"))
        }
    }
}

/// The intent with this id.
pub(crate) fn known<'a>(intents: &'a LoadedIntents, id: &str) -> Result<&'a IntentSpec, Failure> {
    intents.intent(id).ok_or_else(|| {
        let failure = Failure::usage(format!("unknown intent `{id}`"));
        if let Some(problem) = intents.problem_of(id) {
            return failure.hint(format!("it is ignored because of line {problem}"));
        }
        if intents.has_errors() {
            return failure
                .hint("the file has errors, and invalid intents are ignored; `dispatch intent check` shows them");
        }
        failure.hint(open_ones(intents))
    })
}

/// The open intents, for a hint.
pub(crate) fn open_ones(intents: &LoadedIntents) -> String {
    let open = intents.intents.iter().filter(|intent| intent.status.is_open());
    let named: Vec<String> = open.map(|intent| format!("{} ({})", intent.id, intent.name)).collect();
    match named.is_empty() {
        true => "no intent is open; `dispatch intent new NAME --scope GLOB` declares one".to_owned(),
        false => format!("open intents: {}", named.join(", ")),
    }
}

fn refused(workspace: &IntentWorkspace, error: IntentsError) -> Failure {
    let file = shown(&workspace.intents_file());
    match error {
        IntentsError::Invalid(problems) => {
            let messages = problems.iter().map(|problem| format!("{file}:{problem}")).collect();
            Failure { messages, ..Failure::usage(String::new()) }.hint("the file is unchanged")
        }
        IntentsError::NotEditable => Failure::configuration(format!("{file}: {error}"))
            .hint("the file is unchanged; edit it by hand, `dispatch intent edit` opens it"),
        IntentsError::Syntax { .. } => {
            Failure::configuration(format!("{file}: {error}")).hint("`dispatch intent check` shows the problems")
        }
        IntentsError::UnknownIntent { .. } | IntentsError::IdTaken { .. } | IntentsError::NotInList { .. } => {
            Failure::usage(error.to_string()).hint("`dispatch intent list --all` shows them")
        }
        IntentsError::Changed => {
            Failure::usage(error.to_string()).hint("the file is unchanged; look at it and try again")
        }
        IntentsError::Os(error) => error.into(),
        other => Failure::internal(other.to_string()),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
