//! `dispatch explain`: what the pipeline would decide about a payload, and why, with nothing written.

use super::decision_text;
use crate::app::Status;
use crate::dry_run::{DryRunPipeline, known_host};
use crate::failure::Failure;
use crate::printer::{Format, Printer};
use crate::settings::{Loaded, StartIs};
use crate::workspace::Workspace;
use dispatch_hook_dialects::dialect::INPUT_LIMIT_BYTES;
use dispatch_hook_module::HOOKS_FOLDER;
use dispatch_os::files::read_stream_at_most;
use ext_hook_pipeline::contract::{Invocation, Outcome, run as run_pipeline};

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainRequest {
    /// The host that sends the payload; default: detected from the payload
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// The event, as the host or Dispatch spells it; default: detected from the payload
    #[arg(long, value_name = "EVENT")]
    event: Option<String>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(loaded: &Loaded, request: &ExplainRequest, printer: &Printer) -> Result<Status, Failure> {
    known_host(request.host.as_deref())?;
    let payload = read_stream_at_most(std::io::stdin().lock(), "standard input", INPUT_LIMIT_BYTES as u64)?;
    let workspace = Workspace::of(loaded);
    let judging = DryRunPipeline::new(loaded);
    let named = loaded.start_is == StartIs::Named;
    let outcome = run_pipeline(&Invocation {
        host: request.host.as_deref(),
        event: request.event.as_deref(),
        root: named.then_some(workspace.root.as_path()),
        ..judging.dry_run(&payload)
    });
    let Some(report) = &outcome.report else { return Err(unreadable(&outcome)) };
    match Format::from(request.json) {
        Format::Json => printer.json(report)?,
        Format::Text => printer.out(&text(&outcome, &workspace)),
    }
    Ok(Status::Done)
}

fn unreadable(outcome: &Outcome) -> Failure {
    let why = outcome.problems.first().map_or("the payload could not be read", String::as_str);
    Failure::usage(why).hint("pass the payload as the host sends it: dispatch explain --host NAME --event EVENT < FILE")
}

fn text(outcome: &Outcome, workspace: &Workspace) -> String {
    let Some(report) = &outcome.report else { return String::new() };
    let mut rows = vec![("event", format!("{} from {}, session {}", report.event, report.host, report.session))];
    let decided = report.modules.iter().rev().find(|run| run.decision == report.decision.as_str());
    let decided = decided.filter(|_| report.reason.is_some() || report.code.is_some()).map(|run| run.name.as_str());
    rows.extend(decision_text::rows(report, decided, None, &workspace.root));
    if report.modules.is_empty() && !dispatch_os::files::is_dir(workspace.root.join(HOOKS_FOLDER)) {
        rows.push(("note", format!("no {HOOKS_FOLDER} found, so no rules apply; `dispatch init` creates it")));
    }
    rows.extend(outcome.problems.iter().map(|problem| ("note", problem.clone())));
    rows.extend(outcome.context.iter().map(|context| ("context", crate::plain::one_line(context, 400))));
    let reply = String::from_utf8_lossy(&outcome.reply.stdout);
    rows.push(("answer", format!("{} (exit {})", crate::plain::one_line(&reply, 400), outcome.reply.exit_code)));
    decision_text::render(&rows)
}
