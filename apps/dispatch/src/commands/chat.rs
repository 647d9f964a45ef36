//! `dispatch chat`: a conversation with our own agent, or one message of a script.

mod asking;
mod one_shot;
mod outcome;

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::{Running, Threads};
use crate::settings::Loaded;
use clap::ValueEnum;
use dispatch_contracts::extension::Extension;
use ext_session_orchestrator::contract::{Ask, Mode};
use std::sync::Arc;

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
    let outcome = match &request.text {
        Some(text) => running.block_on(one_shot::run(&running, request, text, Format::from(request.json), printer)),
        None => Err(Failure::usage("say something: dispatch chat \"...\"")),
    };
    running.shutdown();
    outcome
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
