//! `dispatch runs follow`: changes as they happen.

use super::{RunCommands, refused, view};
use crate::app::Status;
use crate::failure::Failure;
use crate::plain::lines;
use crate::printer::Format;
use crate::stopping::asked_to_stop;
use ext_workspace_hooks::contract::{ExecutionRecord, Status as RunStatus};
use futures_util::StreamExt as _;
use std::path::Path;
use std::time::Duration;

/// How often a run that goes is looked at for more output.
const LOOK: Duration = Duration::from_millis(200);
/// Lines of output that are shown at once.
const MAX_LINES: usize = 100_000;

impl RunCommands<'_> {
    pub(super) async fn follow(&self, id: Option<&str>, format: Format) -> Result<Status, Failure> {
        let wanted = match id {
            Some(id) => Some(self.record(id).await?),
            None => None,
        };
        let workspace = wanted.as_ref().map_or(self.workspace.as_path(), |record| Path::new(&record.workspace));
        // From here on nothing is missed; what was before is asked for once more.
        let mut news = self.runs.news(workspace).await.map_err(refused)?;
        let mut last = None;
        if let Some(wanted) = &wanted {
            let now = self.record(&wanted.id.0).await?;
            self.print(&now, format)?;
            if now.status.is_over() {
                return Ok(ended(&now));
            }
            last = Some(now);
        }
        loop {
            let record = tokio::select! {
                record = news.next() => record,
                () = asked_to_stop() => return Ok(Status::Done),
            };
            let Some(record) = record else { return Ok(Status::Done) };
            let meant = wanted.as_ref().is_none_or(|wanted| wanted.id == record.id);
            if !meant || last.as_ref() == Some(&record) {
                continue;
            }
            if self.print(&record, format).is_err() || (wanted.is_some() && record.status.is_over()) {
                return Ok(if wanted.is_some() { ended(&record) } else { Status::Done });
            }
            last = Some(record);
        }
    }

    /// Prints what a run prints, as it comes, and how it ended.
    pub(super) async fn follow_output(&self, id: &str) -> Result<Status, Failure> {
        let mut shown = String::new();
        loop {
            let record = self.record(id).await?;
            let printed = record.logs.clone().unwrap_or_default();
            // What is kept of a long output has a gap; what was shown before it stays shown.
            let more = printed.strip_prefix(shown.as_str()).unwrap_or_default();
            if !more.is_empty() {
                self.printer.raw_now(lines(more, MAX_LINES).join("\n").as_bytes());
                if more.ends_with('\n') {
                    self.printer.raw_now(b"\n");
                }
                shown = printed;
            }
            if record.status.is_over() {
                self.printer.note(&view::change(&record));
                return Ok(ended(&record));
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = asked_to_stop() => return Ok(Status::Done),
            }
        }
    }

    /// One line; an error when the reader is gone.
    fn print(&self, record: &ExecutionRecord, format: Format) -> Result<(), Failure> {
        let line = match format {
            Format::Json => serde_json::to_string(record).map_err(|error| Failure::internal(error.to_string()))?,
            Format::Text => view::change(record),
        };
        self.printer.stream(line.as_bytes()).map_err(|error| Failure::internal(error.to_string()))
    }
}

/// How a run went, as the exit status tells it.
pub(super) fn ended(record: &ExecutionRecord) -> Status {
    if record.status == RunStatus::Success { Status::Done } else { Status::No }
}
