//! `dispatch approvals`: the questions to people, in any process, and their answers.

use super::queue::moment;
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::policy_change;
use crate::printer::{Format, Printer, table};
use crate::running::Running;
use crate::settings::Loaded;
use clap::ValueEnum;
use dispatch_contracts::extension::Extension;
use dispatch_os::environment::user_name;
use ext_session_orchestrator::contract::{
    APPROVALS, Answer, Answerer, ApprovalError, ApprovalId, ApprovalRecord, ApprovalRequest, Approvals,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// How many answered questions `--all` shows.
const SHOWN: u32 = 100;
/// What is shown of a call.
const TEXT_CHARS: usize = 80;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the tool calls that wait for a person
    List {
        /// Only this session
        #[arg(long, short, value_name = "LABEL")]
        session: Option<String>,
        /// List answered questions too: who answered, from where, when
        #[arg(long, conflicts_with = "session")]
        all: bool,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Answer a question; the first answer counts
    Answer {
        /// The question's id, as `approvals list` prints it
        id: String,
        /// The answer
        answer: AnswerArg,
        /// Why not; the model is told
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Allow calls of this form in the same project from now on
        #[arg(long, conflicts_with = "reason")]
        remember: bool,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

/// What a person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerArg {
    /// The call runs
    Allow,
    /// The call does not run
    Deny,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &ApprovalsCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    match command {
        ApprovalsCommand::Answer { answer: AnswerArg::Allow, id, .. } => {
            policy_change::confirm(loaded, &format!("answer a question by allowing the call ({id})"), printer)?;
        }
        ApprovalsCommand::Answer { .. } => policy_change::require_person(loaded, "answer a question")?,
        ApprovalsCommand::List { .. } => {}
    }
    let running = Running::look_at_conversations(loaded, extensions)?;
    let outcome =
        running.service(&APPROVALS).and_then(|approvals| running.block_on(obey(&*approvals, command, printer)));
    running.shutdown();
    outcome
}

async fn obey(approvals: &dyn Approvals, command: &ApprovalsCommand, printer: &Printer) -> Result<Status, Failure> {
    match command {
        ApprovalsCommand::List { all: true, json, .. } => {
            let found = approvals.recent(SHOWN).await.map_err(refused)?;
            match Format::from(*json) {
                Format::Json => printer.json(&found.iter().map(record).collect::<Vec<_>>())?,
                Format::Text => printer.out(&table(&found.iter().map(audited).collect::<Vec<_>>())),
            }
        }
        ApprovalsCommand::List { session, json, .. } => {
            let found = approvals.open(session.as_deref()).await.map_err(refused)?;
            match Format::from(*json) {
                Format::Json => printer.json(&found.iter().map(question).collect::<Vec<_>>())?,
                Format::Text if found.is_empty() => printer.out("no questions are open"),
                Format::Text => printer.out(&table(&found.iter().map(listed).collect::<Vec<_>>())),
            }
        }
        ApprovalsCommand::Answer { id, answer, reason, remember, json } => {
            let given = match answer {
                AnswerArg::Allow => Answer::Allow { remember: *remember },
                AnswerArg::Deny => Answer::Deny { reason: reason.clone() },
            };
            let by = Answerer { who: user_name(), from: "command line".to_owned() };
            approvals.answer(&ApprovalId(id.clone()), given, by).await.map_err(refused)?;
            let word = if *answer == AnswerArg::Allow { "allowed" } else { "denied" };
            match Format::from(*json) {
                Format::Json => printer.json(&json!({ "id": id, "state": word }))?,
                Format::Text => printer.out(&format!("{id} is {word}")),
            }
        }
    }
    Ok(Status::Done)
}

/// An open question as scripts read it; `GET /v1/approvals` has the same names.
fn question(request: &ApprovalRequest) -> Value {
    json!({
        "id": request.id,
        "session": request.session,
        "dispatch": request.dispatch,
        "tool": request.call.name,
        "summary": request.summary,
        "folder": request.folder,
        "expires": moment(request.expires_at_ms),
    })
}

fn record(found: &ApprovalRecord) -> Value {
    let mut value = question(&found.request);
    value["state"] = found.state.word().into();
    value["reason"] = found.reason.clone().into();
    value["answeredBy"] = found.answered.as_ref().map(|by| by.who.clone()).into();
    value["answeredFrom"] = found.answered.as_ref().map(|by| by.from.clone()).into();
    value["answeredAt"] = found.answered_at_ms.map(moment).into();
    value
}

fn listed(request: &ApprovalRequest) -> Vec<String> {
    vec![
        request.id.0.clone(),
        one_line(&request.session, TEXT_CHARS),
        one_line(&request.summary, TEXT_CHARS),
        request.folder.display().to_string(),
        format!("until {}", moment(request.expires_at_ms)),
    ]
}

fn audited(found: &ApprovalRecord) -> Vec<String> {
    let by = found.answered.as_ref().map(|by| format!("by {} from {}", by.who, by.from)).unwrap_or_default();
    vec![
        found.request.id.0.clone(),
        found.state.word().to_owned(),
        one_line(&found.request.summary, TEXT_CHARS),
        found.answered_at_ms.map(moment).unwrap_or_default(),
        one_line(&by, TEXT_CHARS),
    ]
}

/// What the questions refused, as a failure of the command.
pub(super) fn refused(error: ApprovalError) -> Failure {
    let message = error.to_string();
    match error {
        ApprovalError::NotOpen(_) => Failure::usage(message)
            .hint("`dispatch approvals list` lists the open questions, `approvals list --all` who answered the others"),
        ApprovalError::NoGrant(_) => {
            Failure::usage(message).hint("`dispatch permissions list --all-folders` lists the permissions")
        }
        ApprovalError::NotAPerson => Failure::usage(message).hint("run it in a terminal of your own"),
        ApprovalError::Storage(_) => Failure::internal(message).hint("`dispatch doctor` checks the storage"),
    }
}
