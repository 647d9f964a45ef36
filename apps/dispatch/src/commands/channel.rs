//! `dispatch channel`: the accounts through which events come in and answers leave.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_event_ledger::contract::{AccountStatus, CHANNELS, Channels, LedgerError};
use serde_json::json;
use std::sync::Arc;

/// What is shown of a name.
const NAME_CHARS: usize = 200;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ChannelCommand {
    /// List the accounts of all channels
    List {
        /// Print one JSON array instead of text
        #[arg(long)]
        json: bool,
    },
    /// Try an account: log in, or say what is missing
    #[command(after_help = "Exit status: 0 it works, 1 it does not.")]
    Test {
        /// The kind of channel
        channel: String,
        /// The account
        account: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &ChannelCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    let running = Running::look_at_channels(loaded, extensions)?;
    let outcome = running.service(&CHANNELS).and_then(|channels| match command {
        ChannelCommand::List { json } => running.block_on(list(channels.as_ref(), (*json).into(), printer)),
        ChannelCommand::Test { channel, account, json } => {
            running.block_on(test(channels.as_ref(), channel, account, (*json).into(), printer))
        }
    });
    running.shutdown();
    outcome
}

async fn list(channels: &dyn Channels, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let accounts = channels.statuses().await.map_err(unreadable)?;
    match format {
        Format::Json => printer.json(&accounts)?,
        Format::Text => printer.out(&table(&accounts.iter().map(row).collect::<Vec<_>>())),
    }
    Ok(Status::Done)
}

fn unreadable(error: LedgerError) -> Failure {
    let hint = error.hint().unwrap_or("`dispatch doctor` checks the database");
    Failure::internal(error.to_string()).hint(hint)
}

fn row(status: &AccountStatus) -> Vec<String> {
    let state = json!(status.state).as_str().unwrap_or_default().to_owned();
    let reason = status.reason.as_deref().unwrap_or_default();
    let node = status.node.as_deref().unwrap_or_default();
    vec![
        status.channel.clone(),
        one_line(&status.account, NAME_CHARS),
        state,
        one_line(node, NAME_CHARS),
        one_line(reason, NAME_CHARS),
    ]
}

async fn test(
    channels: &dyn Channels,
    channel: &str,
    account: &str,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let adapter = channels.find(channel).ok_or_else(|| {
        Failure::usage(format!("unknown channel `{channel}`")).hint("`dispatch channel list` lists the channels")
    })?;
    let tried = adapter.test(account).await;
    let (works, said) = match tried {
        Ok(said) => (true, said),
        Err(error) => (false, error.to_string()),
    };
    if works {
        // An account that stopped is tried again by the server that has it.
        channels.try_again(channel, account).await.map_err(unreadable)?;
    }
    match format {
        Format::Json => {
            printer.json(&json!({ "channel": channel, "account": account, "ok": works, "message": said }))?;
        }
        Format::Text => printer.out(&one_line(&said, NAME_CHARS)),
    }
    Ok(if works { Status::Done } else { Status::No })
}
