//! `dispatch replay`: recorded tool calls judged again by the present rules, and what would be decided differently.

mod tally;

use super::events::subject;
use crate::app::Status;
use crate::dry_run::DryRunPipeline;
use crate::failure::Failure;
use crate::log_file::{LogCursor, LogLine};
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use crate::time_span::TimeSpan;
use crate::workspace::{SessionLog, Workspace};
use dispatch_hook_module::digest::sha256_of_json;
use dispatch_hook_module::state::merge;
use dispatch_hook_module::{EventName, HookEvent, Record, RecordType, SessionState};
use dispatch_os::files::read_at_most;
use dispatch_os::time;
use ext_hook_pipeline::contract::{
    Config, DecisionReport, Invocation, MANIFEST_LIMIT_BYTES, Past, PipelineManifest, event_of, judge,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tally::{DifferenceExample, ReplayTally, ReplayedDecision, SkippedCall};

#[derive(Debug, clap::Args)]
pub(crate) struct ReplayRequest {
    /// Only calls newer than this, for example 12h or 7d; default: all
    #[arg(long, value_name = "TIME")]
    since: Option<TimeSpan>,
    /// Only this session, by id or a prefix of it
    #[arg(long, value_name = "SID")]
    session: Option<String>,
    /// Judge by this manifest instead of the workspace's
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Judge by this configuration instead of the workspace's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show at most this many examples of each difference
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(loaded: &Loaded, request: &ReplayRequest, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::with_rules(loaded)?;
    let sessions = workspace.chosen(request.session.as_deref())?;
    let manifest = request.manifest.as_deref().map(read_manifest).transpose()?;
    let config = request.config.as_deref().map(read_config).transpose()?;
    let since = request.since.map(|since| time::rfc3339(time::unix_ms() - since.ms()));
    let mut replay = Replay {
        workspace: &workspace,
        judging: DryRunPipeline::new(loaded),
        manifest,
        config,
        since,
        tally: ReplayTally::new(request.examples),
    };
    for session in &sessions {
        replay.session(session)?;
    }
    let tally = replay.tally;
    match Format::from(request.json) {
        Format::Json => printer.json(&tally.to_json())?,
        Format::Text => printer.out(&tally.to_text()),
    }
    Ok(if tally.differs() { Status::No } else { Status::Done })
}

fn read_manifest(file: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read_at_most(file, MANIFEST_LIMIT_BYTES).map_err(|error| {
        Failure::of(Status::Usage, &error).hint("--manifest takes a file like dispatch.manifest.json")
    })?;
    let (_, problems) = PipelineManifest::parse(&bytes);
    match problems.as_slice() {
        [] => Ok(bytes),
        problems => Err(Failure { messages: problems.to_vec(), ..Failure::configuration(String::new()) }),
    }
}

fn read_config(file: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read_at_most(file, MANIFEST_LIMIT_BYTES)
        .map_err(|error| Failure::of(Status::Usage, &error).hint("--config takes a file like config.json"))?;
    let (_, problems) = Config::parse(&bytes);
    match problems.as_slice() {
        [] => Ok(bytes),
        problems => Err(Failure { messages: problems.to_vec(), ..Failure::configuration(String::new()) }),
    }
}

struct Replay<'a> {
    workspace: &'a Workspace,
    judging: DryRunPipeline,
    manifest: Option<Vec<u8>>,
    config: Option<Vec<u8>>,
    since: Option<String>,
    tally: ReplayTally,
}

impl Replay<'_> {
    fn session(&mut self, session: &SessionLog) -> Result<(), Failure> {
        let mut cursor = LogCursor::at_start(session.events_file.clone());
        // The state as it was at each event, so that a call made while executing is judged as one.
        let mut state = SessionState::default();
        let unreadable = |error: std::io::Error| {
            Failure::internal(format!("cannot read {}", session.events_file.display())).caused_by(&error)
        };
        while let Some(line) = cursor.next_line().map_err(unreadable)? {
            let record = match &line {
                LogLine::Whole(line) => Record::parse(line),
                LogLine::TooLong => None,
            };
            let Some(record) = record else {
                self.tally.leave_out(SkippedCall::Unreadable);
                continue;
            };
            if record.kind == RecordType::HookRun && self.since.as_ref().is_none_or(|since| record.ts >= *since) {
                self.record(&record, &session.id, &state);
            }
            if let Some(patch @ Value::Object(_)) = record.data.get("statePatch") {
                state = merge(&state, patch).0;
            }
        }
        Ok(())
    }

    fn record(&mut self, record: &Record, session_id: &str, state: &SessionState) {
        let event = match replayable(record) {
            Ok(event) => event,
            Err(why) => return self.tally.leave_out(why),
        };
        self.judging.restart_clock();
        let invocation = Invocation {
            root: Some(&self.workspace.root),
            manifest: self.manifest.as_deref(),
            config: self.config.as_deref(),
            ..self.judging.dry_run(b"")
        };
        let Some(after) = judge(&invocation, &event, Some(&Past { session_id, state })).report else {
            return self.tally.leave_out(SkippedCall::NotJudged);
        };
        let Some(before) = DecisionReport::from_record(record) else {
            return self.tally.leave_out(SkippedCall::NoDecision);
        };
        let about = after.tool.as_ref().map(|tool| subject(tool, &self.workspace.root)).unwrap_or_default();
        self.tally.count(ReplayedDecision::of(&before), ReplayedDecision::of(&after), || DifferenceExample {
            id: record.hook_run_id.clone(),
            session: session_id.to_owned(),
            ts: record.ts.clone(),
            about,
            reason: after.reason.clone().or(before.reason.clone()),
        });
    }
}

/// The event as it was, if the record keeps all of it.
fn replayable(record: &Record) -> Result<HookEvent, SkippedCall> {
    if record.data.get("redelivered").is_some() {
        return Err(SkippedCall::DeliveredAgain);
    }
    if EventName::known(&record.event) != Some(EventName::PreToolUse) {
        return Err(SkippedCall::NotAToolCall);
    }
    let (mut event, whole) = event_of(record).ok_or(SkippedCall::NotKept)?;
    let hash = record.data.get("inputHash").and_then(Value::as_str);
    // The hash is of the input as it arrived: it tells of everything that was cut or redacted.
    let same = hash.is_none_or(|hash| sha256_of_json(&event.tool_input) == hash);
    if !whole || !same {
        return Err(SkippedCall::InputNotWhole);
    }
    // With its id the event would be taken for a second delivery and get its old answer.
    event.tool_use_id = None;
    Ok(event)
}
