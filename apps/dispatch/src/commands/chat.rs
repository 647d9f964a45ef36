//! `dispatch chat`: a conversation with our own agent, or one message of a script.

mod asking;
mod change;
mod completion;
mod conversation;
mod display;
mod idle_questions;
mod keyboard;
mod known_models;
mod markdown;
mod one_shot;
mod outcome;
mod slash;
pub(crate) mod turns;
mod typed_history;

use super::session;
use crate::app::Status;
use crate::extension_reload::{ExtensionReloader, TellReload, told_on_stderr};
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use crate::stopping::Interrupts;
use clap::ValueEnum;
use completion::CommandNames;
use conversation::{Conversation, ConversationStart, MessageSource};
use dispatch_contracts::extension::Extension;
use dispatch_kernel::host::ExtensionHost;
use dispatch_os::Ulid;
use ext_conversation_store::contract::{CONVERSATIONS, Conversations, SessionFilter};
use ext_session_orchestrator::contract::{APPROVALS, Ask, Mode, SESSIONS, Submission, redactor};
use idle_questions::IdleQuestions;
use keyboard::Keyboard;
use std::io::IsTerminal;
use std::sync::Arc;
use turns::MessageSender;
use typed_history::TypedHistory;

/// How many letters tell one session from all others.
const SHORT_ID_CHARS: usize = 10;

/// Arguments of `dispatch chat`.
#[derive(Debug, clap::Args)]
pub(crate) struct ChatRequest {
    /// The message; without it, start an interactive conversation
    pub(crate) text: Option<String>,

    /// Use this session, or create it; default: a new session
    #[arg(long, short, value_name = "LABEL")]
    pub(crate) session: Option<String>,

    /// Continue the session that was used last in this folder
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) go_on: bool,

    /// Print one JSON object when the turn ends
    #[arg(long, requires = "text")]
    pub(crate) json: bool,

    /// Answer every permission question this way; default: ask at the terminal, else deny
    #[arg(long, value_name = "WHICH")]
    pub(crate) approve: Option<Approve>,

    /// What the message does if the session is busy
    #[arg(long, value_name = "MODE", default_value = "followup")]
    pub(crate) mode: ModeArg,

    /// Use this model instead of the configured one
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

/// Who answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Allow; rules and guards that deny still deny
    All,
    /// Deny
    None,
}

/// How input meets a busy session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Enter the running turn at its next step
    Steer,
    /// Wait for its own turn
    Followup,
    /// Wait until the session is idle and share a turn with other collected messages
    Collect,
    /// Stop the running turn and run next
    Interrupt,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Steer => Self::Steer,
            ModeArg::Followup => Self::Followup,
            ModeArg::Collect => Self::Collect,
            ModeArg::Interrupt => Self::Interrupt,
        }
    }
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    request: &ChatRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    let running = Running::start(loaded, extensions, Threads::One)?;
    let outcome = running.block_on(talk(&running, loaded, request, printer));
    running.shutdown();
    outcome
}

async fn talk(running: &Running, loaded: &Loaded, request: &ChatRequest, printer: &Printer) -> Result<Status, Failure> {
    let conversations = running.host().service(&CONVERSATIONS);
    let submission = Submission {
        session: label(loaded, request, conversations.as_deref()).await?,
        text: request.text.clone().unwrap_or_default(),
        mode: request.mode.into(),
        model: request.model.clone(),
        ask: ask(request),
        source: "chat".to_owned(),
        ..Submission::default()
    };
    let mut turns = MessageSender {
        sessions: running.service(&SESSIONS)?,
        approvals: running.service(&APPROVALS)?,
        keyboard: None,
        typed_early: std::collections::VecDeque::new(),
        workdir: loaded.folders().workdir,
        printer,
        format: Format::from(request.json),
    };
    if request.text.is_some() {
        return one_shot::run(&mut turns, submission).await;
    }
    let source = source(loaded)?;
    if let MessageSource::Person { keyboard, .. } = &source {
        turns.keyboard = Some(keyboard.clone());
        keyboard.complete(command_names(running.host()));
    }
    let _reloading = ExtensionReloader::start(running, loaded, told_at(turns.keyboard.clone()));
    let choice = running.model().cloned().ok_or_else(|| Failure::internal("no model was chosen"))?;
    let interrupts = Interrupts::listen();
    let folder = session::session_folder(loaded);
    let questions = IdleQuestions::default();
    let begins = if request.go_on { ConversationStart::GoesOn } else { ConversationStart::Fresh };
    let host = running.host();
    Conversation { turns, host, source, conversations, submission, choice, folder, interrupts, questions }
        .hold(begins)
        .await
}

/// The commands of the conversation and those that extensions add.
fn command_names(host: &ExtensionHost) -> CommandNames {
    let host = host.clone();
    Arc::new(move || {
        let own = slash::COMMANDS.iter().filter_map(|(form, _)| form.split(' ').next().map(str::to_owned));
        own.chain(host.commands().into_iter().map(|command| format!("/{}", command.name))).collect()
    })
}

/// Above the prompt that is open, or where a program's messages go.
fn told_at(keyboard: Option<Keyboard>) -> TellReload {
    match keyboard {
        Some(keyboard) => Arc::new(move |line| keyboard.show_above(&line)),
        None => told_on_stderr(),
    }
}

/// A person if both ends of the conversation are a terminal, else lines.
fn source(loaded: &Loaded) -> Result<MessageSource, Failure> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Ok(MessageSource::Lines);
    }
    let redactor = redactor(&loaded.settings).map_err(|error| Failure::of(Status::Configuration, &error))?;
    let history = TypedHistory::new(&loaded.dirs.state, redactor);
    Ok(MessageSource::Person { keyboard: Keyboard::open()?, history })
}

/// The session that was named, the last one of this folder, or a new one.
async fn label(
    loaded: &Loaded,
    request: &ChatRequest,
    conversations: Option<&dyn Conversations>,
) -> Result<String, Failure> {
    if let Some(label) = &request.session {
        return Ok(label.clone());
    }
    if request.go_on {
        let conversations = conversations
            .ok_or_else(|| Failure::configuration("no storage is active, so there is no session to continue"))?;
        let folder = session::session_folder(loaded);
        let filter = SessionFilter { folder: Some(folder.clone()), limit: 1, ..SessionFilter::default() };
        let newest = conversations.sessions(filter).await.map_err(session::refused)?;
        let newest = newest.into_iter().next().ok_or_else(|| {
            Failure::usage(format!("{} has no session to continue", folder.display()))
                .hint("`dispatch session list --all-folders` lists the sessions of every folder")
        })?;
        return Ok(newest.label);
    }
    Ok(fresh_label())
}

/// A label that no session has.
fn fresh_label() -> String {
    format!("chat-{}", short_id())
}

/// Some letters that were never used before: the end of an id, which is random.
fn short_id() -> String {
    let id = Ulid::generate().to_string().to_lowercase();
    id.chars().skip(id.len().saturating_sub(SHORT_ID_CHARS)).collect()
}

/// Who answers in this run: what was asked for, else the person at the terminal, else no one.
fn ask(request: &ChatRequest) -> Ask {
    match request.approve {
        Some(Approve::All) => Ask::All,
        Some(Approve::None) => Ask::None,
        None if asking::somebody_is_there() => Ask::Person,
        None => Ask::None,
    }
}
