//! `dispatch intent`: declares what is meant to change, and says which session works on what.

mod binding;
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
use ext_intents::file::{FileState, Loaded as Intents, StoreError, load};
use ext_intents::intent::{IntentSpec, IntentStatus};
use ext_intents::layout::Layout;
use std::path::Path;

pub(crate) use view::{context_of, row_json};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum IntentCommand {
    /// Declare an intent; makes .orchestration/active_intents.yaml if it is not there
    New(declare::NewRequest),
    /// Print the intents
    List {
        /// Also those that are completed or abandoned
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
    /// Change an intent, or with no flags open the file in your editor
    Edit(edit::EditRequest),
    /// Bind a session of an agent to an intent
    Select {
        /// The intent
        id: String,
        #[command(flatten)]
        session: binding::SessionArgs,
    },
    /// Take the intent of a session away
    Clear {
        #[command(flatten)]
        session: binding::SessionArgs,
    },
    /// Set an intent to IN_PROGRESS
    Start {
        /// The intent
        id: String,
        /// Also if it is completed or abandoned
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
    /// Print those paths from standard input that a glob matches
    Match {
        /// The glob, as minimatch reads it with `dot: true`
        #[arg(allow_hyphen_values = true)]
        pattern: String,
    },
    /// Say what is wrong with the intent file, as FILE:LINE:COLUMN: MESSAGE
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
    let layout = Layout::new(&workspace.root);
    match command {
        IntentCommand::New(request) => declare::new(&layout, request, printer),
        IntentCommand::List { all, json } => view::list(&layout, (*all).into(), (*json).into(), printer),
        IntentCommand::Show { id, json } => view::show(&layout, id, (*json).into(), printer),
        IntentCommand::Edit(request) => edit::run(&layout, request, printer),
        IntentCommand::Select { id, session } => binding::select(&workspace, &layout, id, session, printer),
        IntentCommand::Clear { session } => binding::clear(&workspace, session, printer),
        IntentCommand::Start { id, reopen } => {
            progress::set(&layout, id, IntentStatus::InProgress, (*reopen).into(), printer)
        }
        IntentCommand::Complete { id } => progress::close(&layout, id, IntentStatus::Completed, printer),
        IntentCommand::Block { id } => progress::close(&layout, id, IntentStatus::Blocked, printer),
        IntentCommand::Abandon { id } => progress::close(&layout, id, IntentStatus::Abandoned, printer),
        IntentCommand::Check { json } => view::check(&layout, (*json).into(), printer),
        IntentCommand::Match { .. } => Ok(Status::Done),
    }
}

/// The intents of a workspace that has some.
pub(crate) fn declared(layout: &Layout) -> Result<Intents, Failure> {
    let intents = load(layout);
    match intents.state {
        FileState::Read => Ok(intents),
        FileState::Absent => Err(Failure::usage(format!("there is no {}", shown(&layout.intents_file())))
            .hint("`dispatch intent new NAME --scope GLOB` declares the first intent")),
        FileState::Malformed => {
            let file = shown(&layout.intents_file());
            let messages = intents.problems.iter().map(|problem| format!("{file}:{problem}")).collect();
            Err(Failure { messages, ..Failure::configuration(String::new()) }
                .hint("repair the file; `dispatch intent check` says when it is right"))
        }
    }
}

/// One of them.
pub(crate) fn known<'a>(intents: &'a Intents, id: &str) -> Result<&'a IntentSpec, Failure> {
    intents.intent(id).ok_or_else(|| {
        let failure = Failure::usage(format!("there is no intent `{id}`"));
        if intents.has_errors() {
            return failure.hint("the file has errors, and intents with errors do not count: `dispatch intent check`");
        }
        failure.hint(open_ones(intents))
    })
}

/// The intents that can be worked on, in words.
pub(crate) fn open_ones(intents: &Intents) -> String {
    let open = intents.intents.iter().filter(|intent| intent.status.is_open());
    let named: Vec<String> = open.map(|intent| format!("{} ({})", intent.id, intent.name)).collect();
    match named.is_empty() {
        true => "no intent is open; `dispatch intent new NAME --scope GLOB` declares one".to_owned(),
        false => format!("open intents: {}", named.join(", ")),
    }
}

fn refused(layout: &Layout, error: StoreError) -> Failure {
    let file = shown(&layout.intents_file());
    match error {
        StoreError::Invalid(problems) => {
            let messages = problems.iter().map(|problem| format!("{file}:{problem}")).collect();
            Failure { messages, ..Failure::usage(String::new()) }.hint("nothing was changed")
        }
        StoreError::Edit(error @ ext_intents::file::EditError::Shape) => {
            Failure::configuration(format!("{file}: {error}"))
                .hint("nothing was changed; change it by hand, `dispatch intent edit` opens it")
        }
        StoreError::Edit(error @ ext_intents::file::EditError::Syntax { .. }) => {
            Failure::configuration(format!("{file}: {error}")).hint("`dispatch intent check` says what is wrong")
        }
        StoreError::Edit(error) => Failure::usage(error.to_string()).hint("`dispatch intent list --all` shows them"),
        StoreError::Changed => Failure::usage(error.to_string()).hint("nothing was changed; look at it and try again"),
        StoreError::Os(error) => error.into(),
        StoreError::Intents(error) => Failure::internal(error.to_string()),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
