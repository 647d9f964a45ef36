//! `dispatch workspace-hooks`: what the files of hooks say, what is wrong with them, and what of it is in force.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_os::lock::{FileLock, LockKind};
use dispatch_os::{OsError, files, time};
use ext_hook_pipeline::contract::WORKSPACE_RESULTS;
use ext_workspace_hooks::contract::{
    Action, HOOKS_FILE, Hook, HookApprovals, HookListing, HookOrigin, HookSet, HookSwitch, Problem, WrittenHooks,
    hooks_schema, list_hooks, next_start_ms, read_hook_files, workspace_of,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// How long to wait for `dispatch trust`.
const LOCK_WAIT: Duration = Duration::from_secs(5);

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
    /// Let a hook run again that you switched off
    Enable {
        /// The hook
        hook: String,
    },
    /// Switch a hook off, for you alone; the file stays as it is
    Disable {
        /// The hook
        hook: String,
    },
    /// Print the JSON Schema of .akira/hooks.json
    Schema,
}

pub(crate) fn run(loaded: &Loaded, command: &WorkspaceHooksCommand, printer: &Printer) -> Result<Status, Failure> {
    let workspace = workspace_of(&loaded.start);
    match command {
        WorkspaceHooksCommand::Check { json } => check(loaded, &workspace, (*json).into(), printer),
        WorkspaceHooksCommand::List { json } => list(loaded, &workspace, (*json).into(), printer),
        WorkspaceHooksCommand::Enable { hook } => switch(loaded, &workspace, hook, HookSwitch::On, printer),
        WorkspaceHooksCommand::Disable { hook } => switch(loaded, &workspace, hook, HookSwitch::Off, printer),
        WorkspaceHooksCommand::Schema => printer.json(&hooks_schema()).map(|()| Status::Done),
    }
}

fn check(loaded: &Loaded, workspace: &Path, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let written = read_hook_files(workspace, &loaded.folders());
    let problems: Vec<Problem> = written.problems.iter().map(|it| placed(it, loaded, workspace)).collect();
    match format {
        Format::Json => printer.json(&problems)?,
        Format::Text => printer.out(&verdict(&problems, &written)),
    }
    warn_untold(&written, loaded, workspace, printer);
    Ok(if problems.is_empty() { Status::Done } else { Status::No })
}

/// A result that is to be told goes to no agent where the module that tells it is off.
fn warn_untold(written: &WrittenHooks, loaded: &Loaded, workspace: &Path, printer: &Printer) {
    let mut telling = written.hooks.iter().filter(|it| it.hook.tell_agent);
    let Some(first) = telling.next() else { return };
    let (manifest, _) = Workspace::at(loaded, workspace).manifest();
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
    match set.waiting_for_approval().count() {
        0 => {}
        1 => printer.warn("1 hook waits for your approval; review it with `dispatch trust`"),
        waiting => printer.warn(&format!("{waiting} hooks wait for your approval; review them with `dispatch trust`")),
    }
    warn_untold(&written, loaded, workspace, printer);
    if !written.problems.is_empty() {
        printer.warn("the hook files have problems; these are the last valid hooks");
        printer.note("hint: `dispatch workspace-hooks check` lists them");
    }
    Ok(Status::Done)
}

fn switch(
    loaded: &Loaded,
    workspace: &Path,
    hook: &str,
    switch: HookSwitch,
    printer: &Printer,
) -> Result<Status, Failure> {
    let written = read_hook_files(workspace, &loaded.folders());
    if !written.hooks.iter().any(|it| it.hook.id == hook) {
        return Err(Failure::usage(format!("unknown hook `{}`", one_line(hook, TEXT_CHARS)))
            .hint("`dispatch workspace-hooks list` shows the hooks"));
    }
    files::create_dir_all(&loaded.dirs.data).map_err(|source| OsError::Io {
        action: "create",
        path: loaded.dirs.data.clone(),
        source,
    })?;
    let _lock = FileLock::acquire(&loaded.trust_file.with_extension("lock"), LockKind::Exclusive, LOCK_WAIT)?;
    let mut approvals = HookApprovals::beside(&loaded.trust_file);
    approvals.switch(&workspace.join(HOOKS_FILE), hook, switch);
    approvals.save()?;
    let word = if switch == HookSwitch::On { "on" } else { "off" };
    printer.out(&format!("hook `{}` is switched {word}", one_line(hook, TEXT_CHARS)));
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
        "budget": hook.budget,
        "permissions": hook.permissions,
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
