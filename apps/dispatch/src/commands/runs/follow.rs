//! `dispatch runs follow`: changes as they happen.

use super::{RunCommands, refused, view};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Format;
use crate::stopping::asked_to_stop;
use ext_workspace_hooks::contract::{ExecutionRecord, Status as RunStatus};
use futures_util::StreamExt as _;
use std::path::Path;

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
