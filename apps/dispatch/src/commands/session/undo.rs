//! `dispatch session undo`: takes the last compaction of a session back.

use super::{counted, refused};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::running::Running;
use crate::settings::Loaded;
use dispatch_contracts::extension::Extension;
use ext_compaction::contract::{COMPACTIONS, CompactionError};
use serde_json::json;
use std::sync::Arc;

pub(super) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    label: &str,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let running = Running::look_at_compactions(loaded, extensions)?;
    let undone = running.service(&COMPACTIONS).and_then(|compactions| {
        running.block_on(compactions.undo(label)).map_err(|error| match error {
            CompactionError::Nothing { .. } => Failure::usage(error.to_string())
                .hint("a conversation is summarised only when it no longer fits its model"),
            CompactionError::Conversation(error) => refused(error),
            CompactionError::Storage(error) => {
                Failure::internal(error.to_string()).hint("`dispatch doctor` checks the storage")
            }
        })
    });
    running.shutdown();
    let undone = undone?;
    match format {
        Format::Json => printer.json(&json!({ "session": label, "undone": undone }))?,
        Format::Text => printer.out(&format!(
            "the model reads again the {} that the summary stood for",
            counted(undone.turns as u64, "turn")
        )),
    }
    Ok(Status::Done)
}
