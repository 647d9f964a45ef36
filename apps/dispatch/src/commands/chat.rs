//! `dispatch chat`: a conversation with our own agent, or one message of a script.

mod asking;
mod change;
mod conversation;
mod display;
mod keyboard;
mod markdown;
mod one_shot;
mod outcome;
mod slash;
pub(crate) mod turns;
mod typed_history;

use super::session;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use crate::stopping::Interrupts;
use clap::ValueEnum;
use conversation::{Conversation, Source};
use dispatch_contracts::extension::Extension;
use dispatch_os::Ulid;
use ext_conversation_store::contract::{CONVERSATIONS, Conversations, SessionFilter};
use ext_session_orchestrator::contract::{APPROVALS, Ask, Mode, SESSIONS, Submission, redactor};
use keyboard::Keyboard;
use std::io::IsTerminal;
use std::sync::Arc;
use turns::Turns;
use typed_history::TypedHistory;

/// How many letters tell one session from all others.
const SHORT_ID_CHARS: usize = 10;

/// Talk to Dispatch's own agent.
#[derive(Debug, clap::Args)]
pub(crate) struct ChatRequest {
    /// What to say; without it a conversation begins
    pub(crate) text: Option<String>,

    /// The session to talk in; a new one by default
    #[arg(long, short, value_name = "LABEL")]
    pub(crate) session: Option<String>,

    /// Go on with the session that was used last
    #[arg(long = "continue", conflicts_with = "session")]
    pub(crate) go_on: bool,

    /// Print one JSON object when the turn is over
    #[arg(long, requires = "text")]
    pub(crate) json: bool,

    /// What to answer when a tool call needs permission; without it a person is asked if there is one
    #[arg(long, value_name = "WHICH")]
    pub(crate) approve: Option<Approve>,

    /// How the message meets a session that is busy
    #[arg(long, value_name = "MODE", default_value = "followup")]
    pub(crate) mode: ModeArg,

    /// Another model than the configured one
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

/// Who answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Every question is a yes; rules and guards that refuse still do
    All,
    /// Every question is a no
    None,
}

/// How input meets a busy session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Enter the running turn at its next boundary
    Steer,
    /// Wait for a turn of its own
    Followup,
    /// Wait for a quiet moment and share a turn with others
    Collect,
    /// Stop the running turn and come next
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
        session: label(request, conversations.as_deref()).await?,
        text: request.text.clone().unwrap_or_default(),
        mode: request.mode.into(),
        model: request.model.clone(),
        ask: ask(request),
        source: "chat".to_owned(),
        ..Submission::default()
    };
    let mut turns = Turns {
        sessions: running.service(&SESSIONS)?,
        approvals: running.service(&APPROVALS)?,
        keyboard: None,
        workdir: loaded.folders().workdir,
        printer,
        format: Format::from(request.json),
    };
    if request.text.is_some() {
        return one_shot::run(&mut turns, submission).await;
    }
    let source = source(loaded)?;
    if let Source::Person { keyboard, .. } = &source {
        turns.keyboard = Some(keyboard.clone());
    }
    let choice = running.model().cloned().ok_or_else(|| Failure::internal("no model was looked for"))?;
    let interrupts = Interrupts::listen();
    Conversation { turns, source, conversations, submission, choice, interrupts }.hold().await
}

/// A person if both ends of the conversation are a terminal, else lines.
fn source(loaded: &Loaded) -> Result<Source, Failure> {
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Ok(Source::Lines);
    }
    let redactor = redactor(&loaded.settings).map_err(|error| Failure::configuration(error.to_string()))?;
    let history = TypedHistory::new(&loaded.dirs.state, redactor);
    Ok(Source::Person { keyboard: Keyboard::open()?, history })
}

/// The session that was named, the last one, or a new one.
async fn label(request: &ChatRequest, conversations: Option<&dyn Conversations>) -> Result<String, Failure> {
    if let Some(label) = &request.session {
        return Ok(label.clone());
    }
    if request.go_on {
        let conversations = conversations
            .ok_or_else(|| Failure::configuration("there is no storage, so there is nothing to go on with"))?;
        let newest = conversations.sessions(SessionFilter { limit: 1, ..SessionFilter::default() }).await;
        let newest = newest.map_err(session::refused)?;
        let newest = newest.into_iter().next().ok_or_else(|| Failure::usage("there is no session yet"))?;
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

/// Who answers in this run: what was asked for, else the person at the terminal, else nobody.
fn ask(request: &ChatRequest) -> Ask {
    match request.approve {
        Some(Approve::All) => Ask::All,
        Some(Approve::None) => Ask::None,
        None if asking::somebody_is_there() => Ask::Person,
        None => Ask::None,
    }
}
