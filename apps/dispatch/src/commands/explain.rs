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
use serde_json::json;

/// Whose call a plain command counts as.
const DEFAULT_HOST: &str = "claude-code";

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainRequest {
    /// A shell command to judge; default: the payload on standard input
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
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
    let payload = match &request.command {
        Some(command) => of_command(command, loaded),
        None => {
            let given = read_stream_at_most(std::io::stdin().lock(), "standard input", INPUT_LIMIT_BYTES as u64)?;
            command_on_input(&given).map_or_else(|| given.clone(), |command| of_command(command, loaded))
        }
    };
    let workspace = Workspace::of(loaded);
    let judging = DryRunPipeline::new(loaded);
    let named = loaded.start_is == StartIs::Named;
    let outcome = run_pipeline(&Invocation {
        host: request.host.as_deref().or(request.command.as_ref().map(|_| DEFAULT_HOST)),
        event: request.event.as_deref(),
        root: named.then_some(workspace.root.as_path()),
        ..judging.dry_run(&payload)
    });
    let Some(report) = &outcome.report else { return Err(unreadable(&outcome)) };
    if report.event.is_empty() {
        let event = request.event.as_deref().unwrap_or_default();
        return Err(Failure::usage(format!("unknown event `{event}`"))
            .hint("name one with --event, for example PreToolUse; docs/hosts.md lists them"));
    }
    match Format::from(request.json) {
        Format::Json => printer.json(report)?,
        Format::Text => printer.out(&text(&outcome, &workspace)),
    }
    Ok(Status::Done)
}

/// The payload of a host that is about to run this command here.
fn of_command(command: &str, loaded: &Loaded) -> Vec<u8> {
    let payload = json!({
        "hook_event_name": "PreToolUse",
        "session_id": "explain",
        "cwd": loaded.start,
        "tool_name": "Bash",
        "tool_input": { "command": command },
    });
    payload.to_string().into_bytes()
}

/// A command that was piped in place of a payload: text that does not begin as JSON does.
fn command_on_input(input: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(input).ok()?.trim();
    (!text.is_empty() && !text.starts_with(['{', '['])).then_some(text)
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
    let further = report.findings.iter().filter(|finding| finding.code != report.code || finding.why != report.reason);
    rows.extend(further.map(|finding| {
        let code = finding.code.as_deref().unwrap_or("a guard");
        ("also", format!("{code} says {}: {}", finding.decision.as_str(), finding.why.as_deref().unwrap_or_default()))
    }));
    rows.extend(outcome.problems.iter().map(|problem| ("note", problem.clone())));
    rows.extend(outcome.context.iter().map(|context| ("context", crate::plain::one_line(context, 400))));
    let reply = String::from_utf8_lossy(&outcome.reply.stdout);
    rows.push(("answer", format!("{} (exit {})", crate::plain::one_line(&reply, 400), outcome.reply.exit_code)));
    decision_text::render(&rows)
}
