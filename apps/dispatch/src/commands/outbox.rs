//! `dispatch outbox`: replies on their way to a channel, and what became of each.

use crate::app::Status;
use crate::commands::queue::moment;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_session_orchestrator::contract::{OUTBOX, Outbox, OutboxError, ReplyFilter, ReplyState, ReplyView, SettledAs};
use serde_json::json;
use std::sync::Arc;

/// What is shown of a reply.
const TEXT_CHARS: usize = 60;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum OutboxCommand {
    /// List replies, newest first
    List {
        /// Only in this state: pending, sending, sent, failed or unknown
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Say what became of a reply that may have arrived; one that did not is sent again
    Settle {
        /// The reply's id, as `outbox list` prints it
        id: String,
        /// What became of it
        #[arg(long = "as", value_name = "WHAT", value_enum)]
        settled: SettledName,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum SettledName {
    /// It arrived
    Sent,
    /// It did not arrive
    NotSent,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &OutboxCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    let running = Running::look_at_conversations(loaded, extensions)?;
    let outcome = running.service(&OUTBOX).and_then(|outbox| running.block_on(obey(outbox.as_ref(), command, printer)));
    running.shutdown();
    outcome
}

async fn obey(outbox: &dyn Outbox, command: &OutboxCommand, printer: &Printer) -> Result<Status, Failure> {
    match command {
        OutboxCommand::List { state, json } => {
            let state = state.as_deref().map(known_state).transpose()?;
            let replies = outbox.list(ReplyFilter { state, ..ReplyFilter::default() }).await?;
            match Format::from(*json) {
                Format::Json => printer.json(&json!({ "outbox": replies }))?,
                Format::Text if replies.is_empty() => printer.out("the outbox is empty"),
                Format::Text => printer.out(&table(&replies.iter().map(row).collect::<Vec<_>>())),
            }
        }
        OutboxCommand::Settle { id, settled, json } => {
            let settled = match settled {
                SettledName::Sent => SettledAs::Sent,
                SettledName::NotSent => SettledAs::NotSent,
            };
            let reply = outbox.settle(id, settled).await?;
            match Format::from(*json) {
                Format::Json => printer.json(&reply)?,
                Format::Text => printer.out(&format!("{id} is {}", reply.state.word())),
            }
        }
    }
    Ok(Status::Done)
}

fn known_state(word: &str) -> Result<ReplyState, Failure> {
    ReplyState::of_word(word).ok_or_else(|| {
        Failure::usage(format!("unknown state `{word}`")).hint("use pending, sending, sent, failed or unknown")
    })
}

fn row(reply: &ReplyView) -> Vec<String> {
    vec![
        reply.id.clone(),
        reply.state.word().to_owned(),
        reply.channel.clone(),
        format!("attempt {}", reply.attempt),
        moment(reply.changed_at_ms),
        one_line(&reply.text, TEXT_CHARS),
        one_line(&reply.reason, TEXT_CHARS),
    ]
}

impl From<OutboxError> for Failure {
    fn from(error: OutboxError) -> Self {
        match &error {
            OutboxError::NoReply(_) | OutboxError::NotOpen { .. } => {
                Self::usage(error.to_string()).hint("`dispatch outbox list` lists the replies and their states")
            }
            OutboxError::Storage(_) => Self::internal(error.to_string()),
        }
    }
}
