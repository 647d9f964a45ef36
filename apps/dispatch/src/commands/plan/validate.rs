//! Runs the checks of a plan node. The commands come from a plan that an agent may have written, so they are judged
//! like any command of an agent before they run.

use crate::dry_run::DryRunPipeline;
use crate::plain::{lines, one_line};
use crate::printer::Printer;
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_module::{Decision, EventName, HookEvent, Paths, SessionState};
use dispatch_os::process::ChildSpec;
use ext_hook_pipeline::contract::plan::ValidationResult;
use ext_hook_pipeline::contract::{Config, Invocation, Past, judge};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long one check may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// What is shown of the output of a check that failed.
const SHOWN_LINES: usize = 40;
/// The dialect and the tool that a check is judged as.
const HOST: &str = "claude-code";
const TOOL: &str = "Bash";

/// How one check went.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeCheck {
    command: String,
    exit_code: Option<i32>,
    /// How it ended, in words.
    end: String,
    ms: u128,
    /// The end of its output, if it failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    output: Vec<String>,
}

impl NodeCheck {
    pub(super) fn passed(&self) -> bool {
        self.exit_code == Some(0)
    }

    pub(super) fn result(&self) -> ValidationResult {
        ValidationResult { command: self.command.clone(), exit_code: self.exit_code }
    }

    pub(super) fn text(&self) -> String {
        let mark = if self.passed() { "ok" } else { "FAILED" };
        let mut rows = vec![format!("{mark}  {}  ({}, {} ms)", one_line(&self.command, 200), self.end, self.ms)];
        rows.extend(self.output.iter().map(|line| format!("    {line}")));
        rows.join("\n")
    }
}

/// Runs the checks in order; after one that failed, the others are not run.
pub(super) fn run_all(
    loaded: &Loaded,
    workspace: &Workspace,
    paths: &Paths,
    state: &SessionState,
    commands: &[String],
    printer: &Printer,
) -> Vec<NodeCheck> {
    let mut judging = DryRunPipeline::new(loaded);
    let mut checks: Vec<NodeCheck> = Vec::new();
    for command in commands {
        let check = if checks.iter().any(|check| !check.passed()) {
            left_out(command, "not run, because an earlier check failed".to_owned())
        } else if let Some(why) = objection(&mut judging, workspace, paths, state, command) {
            left_out(command, format!("not run: {why}"))
        } else {
            printer.note(&format!("running {}", one_line(command, 200)));
            run(command, workspace, paths)
        };
        checks.push(check);
    }
    checks
}

fn left_out(command: &str, end: String) -> NodeCheck {
    NodeCheck { command: command.to_owned(), exit_code: None, end, ms: 0, output: Vec::new() }
}

/// Why the rules do not let an agent run this.
fn objection(
    judging: &mut DryRunPipeline,
    workspace: &Workspace,
    paths: &Paths,
    state: &SessionState,
    command: &str,
) -> Option<String> {
    judging.restart_clock();
    let mut event = HookEvent::new(EventName::PreToolUse, HOST, "PreToolUse".to_owned(), Value::Null);
    event.tool_name = Some(TOOL.to_owned());
    event.tool_input = json!({ "command": command });
    event.cwd = Some(workspace.root.to_string_lossy().into_owned());
    let session = paths.session_root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let invocation = Invocation { root: Some(&workspace.root), ..judging.dry_run(b"") };
    let report = judge(&invocation, &event, Some(&Past { session_id: &session, state })).report?;
    if report.decision == Decision::Allow {
        return None;
    }
    let code = report.code.map(|code| format!("{code}: ")).unwrap_or_default();
    Some(one_line(&format!("{code}{}", report.reason.unwrap_or_default()), 400))
}

fn run(command: &str, workspace: &Workspace, paths: &Paths) -> NodeCheck {
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let outcome = ChildSpec::new(shell).arg(flag).arg(command).working_folder(&workspace.root).timeout(TIMEOUT).run();
    let output = if outcome.succeeded() {
        Vec::new()
    } else {
        let redactor = Config::load(&paths.config_file()).0.redactor();
        let said = format!("{}\n{}", outcome.stdout.text().trim_end(), outcome.stderr.text().trim_end());
        let said = lines(redactor.redact(said.trim()).as_ref(), usize::MAX);
        said.into_iter().rev().take(SHOWN_LINES).rev().collect()
    };
    NodeCheck {
        command: command.to_owned(),
        exit_code: outcome.exit_code(),
        end: outcome.end.to_string(),
        ms: outcome.duration.as_millis(),
        output,
    }
}
