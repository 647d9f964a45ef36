//! `dispatch workspace-hooks`: what the files of hooks say, what is wrong with them, and what of it is in force.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_os::files;
use dispatch_os::time;
use ext_hook_pipeline::contract::WORKSPACE_RESULTS;
use ext_workspace_hooks::contract::{
    Action, HOOKS_FILE, Hook, HookListing, HookOrigin, HookSet, Problem, WrittenHooks, hooks_schema, list_hooks,
    next_start_ms, read_hook_files, workspace_of,
};
use serde_json::{Value, json};
use std::path::Path;

/// The longest message or reason on a line.
const TEXT_CHARS: usize = 300;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum WorkspaceHooksCommand {
    /// List every problem of .akira/hooks.json and of your own hooks.json
    Check {
        /// Print one JSON list of problems instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the hooks, and why one does not run
    List {
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of .akira/hooks.json
    Schema,
}

pub(crate) fn run(loaded: &Loaded, command: &WorkspaceHooksCommand, printer: &Printer) -> Result<Status, Failure> {
    let workspace = workspace_of(&loaded.start);
    match command {
        WorkspaceHooksCommand::Check { json } => check(loaded, &workspace, (*json).into(), printer),
        WorkspaceHooksCommand::List { json } => list(loaded, &workspace, (*json).into(), printer),
        WorkspaceHooksCommand::Schema => printer.json(&hooks_schema()).map(|()| Status::Done),
    }
}

fn check(loaded: &Loaded, workspace: &Path, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let written = read_hook_files(workspace, &loaded.dirs.config);
    let problems: Vec<Problem> = written.problems.iter().map(|it| placed(it, loaded, workspace)).collect();
    match format {
        Format::Json => printer.json(&problems)?,
        Format::Text => printer.out(&verdict(&problems, &written)),
    }
    warn_untold(&written, workspace, printer);
    Ok(if problems.is_empty() { Status::Done } else { Status::No })
}

/// A result that is to be told goes to no agent where the module that tells it is off.
fn warn_untold(written: &WrittenHooks, workspace: &Path, printer: &Printer) {
    let mut telling = written.hooks.iter().filter(|it| it.hook.tell_agent);
    let Some(first) = telling.next() else { return };
    let (manifest, _) = Workspace::at(workspace).manifest();
    if manifest.modules.iter().any(|module| module.name == WORKSPACE_RESULTS && module.enabled) {
        return;
    }
    let name = one_line(&first.hook.id, TEXT_CHARS);
    let more = match telling.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    printer
        .warn(&format!("hook `{name}`{more}: `tellAgent` has no effect while the module `workspace-results` is off"));
    printer.note("hint: `dispatch init --full` switches it on, or a line in .ai/hooks/dispatch.manifest.json");
}

/// The problem with a name of its file that leads there from where the command was run.
fn placed(problem: &Problem, loaded: &Loaded, workspace: &Path) -> Problem {
    let here = files::canonicalize(&loaded.start).is_ok_and(|start| start == workspace);
    let mut problem = problem.clone();
    if problem.file == HOOKS_FILE && !here {
        problem.file = workspace.join(HOOKS_FILE).display().to_string();
    }
    problem
}

fn verdict(problems: &[Problem], written: &WrittenHooks) -> String {
    let mut rows = Vec::new();
    for problem in problems {
        let message = one_line(&problem.message, TEXT_CHARS);
        rows.push(format!("{}:{}:{}: {message}", problem.file, problem.line, problem.column));
        rows.extend(problem.hint.as_ref().map(|hint| format!("  hint: {}", one_line(hint, TEXT_CHARS))));
    }
    rows.push(match (written.files.is_empty(), problems.is_empty()) {
        (true, _) => format!("no {HOOKS_FILE} found"),
        (false, true) => format!("{} valid", hooks(written.counted)),
        (false, false) => format!("{} of {} valid", written.valid, hooks(written.counted)),
    });
    rows.join("\n")
}

fn hooks(count: usize) -> String {
    match count {
        1 => "1 hook is".to_owned(),
        count => format!("{count} hooks are"),
    }
}

fn list(loaded: &Loaded, workspace: &Path, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let HookListing { written, set } = list_hooks(workspace, &loaded.folders());
    if format == Format::Json {
        let hooks: Vec<Value> = written.hooks.iter().map(|it| described(&it.hook, it.origin, &set)).collect();
        let problems: Vec<Problem> = written.problems.iter().map(|it| placed(it, loaded, workspace)).collect();
        printer.json(&json!({ "workspace": workspace, "hooks": hooks, "problems": problems }))?;
        return Ok(Status::Done);
    }
    if written.hooks.is_empty() {
        printer.out(&format!("no hooks; write some into {HOOKS_FILE}"));
    } else {
        let rows: Vec<Vec<String>> = written.hooks.iter().map(|it| row(&it.hook, it.origin, &set)).collect();
        printer.out(&table(&rows));
    }
    warn_untold(&written, workspace, printer);
    if !written.problems.is_empty() {
        printer.warn("the hook files have problems; these are the last valid hooks");
        printer.note("hint: `dispatch workspace-hooks check` lists them");
    }
    Ok(Status::Done)
}

fn described(hook: &Hook, origin: HookOrigin, set: &HookSet) -> Value {
    let reason = dormant(hook, set);
    json!({
        "id": hook.id,
        "trigger": hook.trigger.to_string(),
        "pattern": hook.pattern,
        "action": action(hook),
        "origin": origin_word(origin),
        "inForce": reason.is_none(),
        "reason": reason,
        "next": next(hook),
        "fingerprint": hook.fingerprint,
    })
}

fn row(hook: &Hook, origin: HookOrigin, set: &HookSet) -> Vec<String> {
    let standing = match dormant(hook, set) {
        Some(reason) => format!("does not run: {}", one_line(reason, TEXT_CHARS)),
        None => next(hook).map(|moment| format!("next at {moment}")).unwrap_or_default(),
    };
    vec![
        one_line(&hook.id, TEXT_CHARS),
        hook.trigger.to_string(),
        one_line(&hook.pattern.join(" "), TEXT_CHARS),
        action(hook).to_owned(),
        origin_word(origin).to_owned(),
        standing,
    ]
}

fn dormant<'a>(hook: &Hook, set: &'a HookSet) -> Option<&'a str> {
    set.dormant.iter().find(|it| it.hook_id == hook.id).map(|it| it.reason.as_str())
}

/// When a time table starts it next.
fn next(hook: &Hook) -> Option<String> {
    next_start_ms(hook, time::unix_ms()).map(time::rfc3339)
}

/// Prompts and arguments may hold anything, so only their kind is told.
const fn action(hook: &Hook) -> &'static str {
    match hook.action {
        Action::Prompt(_) => "prompt",
        Action::Command(_) => "command",
    }
}

const fn origin_word(origin: HookOrigin) -> &'static str {
    match origin {
        HookOrigin::Global => "global",
        HookOrigin::Workspace => "workspace",
    }
}
