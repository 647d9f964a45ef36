//! `dispatch person`: who is behind the names that channels know senders by.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_event_ledger::contract::{Identity, Person};
use serde_json::json;
use std::sync::Arc;

/// What is shown of a name.
const NAME_CHARS: usize = 200;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum PersonCommand {
    /// List the persons and their identities
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Say that an identity is a person's; a new person is made
    Link {
        /// The person
        person: String,
        /// The channel and its name for the person, such as mail:ann@example.org
        #[arg(value_name = "CHANNEL:ID")]
        identity: String,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    command: &PersonCommand,
    printer: &Printer,
) -> Result<Status, Failure> {
    super::event::with_ledger(loaded, extensions, async |ledger| {
        match command {
            PersonCommand::List { json } => {
                let persons = ledger.persons().await?;
                match Format::from(*json) {
                    Format::Json => printer.json(&json!({ "persons": persons }))?,
                    Format::Text if persons.is_empty() => printer.out("no persons"),
                    Format::Text => printer.out(&table(&persons.iter().map(row).collect::<Vec<_>>())),
                }
            }
            PersonCommand::Link { person, identity, json } => {
                let identity = Identity::parse(identity).ok_or_else(|| {
                    Failure::usage(format!("invalid identity `{identity}`"))
                        .hint("name the channel and its name for the person: mail:ann@example.org")
                })?;
                let linked = ledger.link(person, identity).await?;
                match Format::from(*json) {
                    Format::Json => printer.json(&linked)?,
                    Format::Text => printer.out(&row(&linked).join("  ")),
                }
            }
        }
        Ok(Status::Done)
    })
}

fn row(person: &Person) -> Vec<String> {
    let identities: Vec<String> = person.identities.iter().map(ToString::to_string).collect();
    vec![one_line(&person.name, NAME_CHARS), one_line(&identities.join(", "), NAME_CHARS)]
}
