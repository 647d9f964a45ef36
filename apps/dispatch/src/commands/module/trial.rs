//! `dispatch module test`: finds the event files of a script module, tries it on each, and prints how it went.

use crate::app::Status;
use crate::dry_run::{DryRunPipeline, known_host};
use crate::failure::Failure;
use crate::plain::lines;
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_os::files::read_at_most;
use dispatch_trust::{Trust, read_content};
use ext_hook_pipeline::contract::{ModuleTrial, ModuleTrialError, ModuleTrialSetup, Scripts, try_module};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The largest file with an event.
const EVENT_LIMIT_BYTES: u64 = 64 * 1024 * 1024;
/// Event files of one module that are run.
const MAX_EVENTS: usize = 200;
const SHOWN_LINES: usize = 200;

pub(super) struct ModuleTrialRequest<'a> {
    pub(super) name: &'a str,
    pub(super) events: &'a [PathBuf],
    pub(super) host: Option<&'a str>,
    pub(super) format: Format,
}

/// How one event went, with the name of its file.
#[derive(Debug, Serialize)]
struct ShownTrial {
    event: String,
    #[serde(flatten)]
    trial: ModuleTrial,
}

pub(super) fn run(
    loaded: &Loaded,
    workspace: &Workspace,
    request: &ModuleTrialRequest<'_>,
    printer: &Printer,
) -> Result<Status, Failure> {
    known_host(request.host)?;
    let folder = workspace.paths("modules").module_source(request.name);
    let files = event_files(&folder, request.events)?;
    // To try a module is to approve it for this once: what it may do is bounded by the engine, not by trust.
    let scripts = Scripts::new(trust_in(&folder, workspace)?, None);
    let judging = DryRunPipeline::new(loaded);
    let setup = ModuleTrialSetup {
        module: request.name,
        scripts: &scripts,
        root: &workspace.root,
        hints: judging.hints(),
        home: judging.home(),
    };
    let mut trials = Vec::new();
    for file in &files {
        let trial = attempt(&setup, file, request.host)?;
        trials.push(ShownTrial { event: workspace.shown(file), trial });
    }
    let approved = Trust::load(&loaded.trust_file);
    let waits = super::super::trust::script_files(&folder)
        .iter()
        .any(|file| read_content(file).is_ok_and(|content| !approved.is_approved(&content)));
    match request.format {
        Format::Json => {
            printer.json(&serde_json::json!({"module": request.name, "approved": !waits, "trials": trials}))?
        }
        Format::Text => {
            printer.out(&trials.iter().map(text).collect::<Vec<_>>().join("\n\n"));
            if waits {
                printer.out(&format!(
                    "\nit does not run in sessions until it is approved: dispatch trust {}",
                    request.name
                ));
            }
        }
    }
    Ok(if trials.iter().any(|shown| shown.trial.failed()) { Status::No } else { Status::Done })
}

fn event_files(folder: &Path, named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let entries = dispatch_os::files::read_dir(folder);
    let mut found: Vec<PathBuf> = entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(".event.json")));
    found.sort_unstable();
    found.truncate(MAX_EVENTS);
    if found.is_empty() {
        return Err(Failure::usage(format!("{} has no *.event.json to run the module on", folder.display()))
            .hint("--event FILE names one; `dispatch module new` makes a module with some"));
    }
    Ok(found)
}

fn trust_in(folder: &Path, workspace: &Workspace) -> Result<Trust, Failure> {
    let mut trust = Trust::default();
    let shared = workspace.paths("modules").hooks_root.join("lib");
    for file in [folder, &shared].into_iter().flat_map(super::super::trust::script_files) {
        let content = read_content(&file)?;
        trust.approve(file, &content)?;
    }
    Ok(trust)
}

fn attempt(setup: &ModuleTrialSetup<'_>, file: &Path, host: Option<&str>) -> Result<ModuleTrial, Failure> {
    let bytes = read_at_most(file, EVENT_LIMIT_BYTES)
        .map_err(|error| Failure::of(Status::Usage, &error).hint("--event takes a file with a payload"))?;
    try_module(setup, bytes, host).map_err(|error| match error {
        ModuleTrialError::Payload(cause) => Failure::usage(format!("{}: {cause}", file.display())),
        ModuleTrialError::UnknownModule(ref name) => {
            Failure::usage(error.to_string()).hint(format!("`dispatch module new {name}` makes it"))
        }
        ModuleTrialError::NotLoaded(why) => Failure::configuration(why),
    })
}

fn text(ShownTrial { event, trial }: &ShownTrial) -> String {
    let verdict = match (&trial.unmet, &trial.error) {
        (_, Some(_)) => "FAILED",
        (Some(unmet), None) if !unmet.is_empty() => "FAILED",
        (Some(_), None) => "ok",
        (None, None) => "ran",
    };
    let mut rows = vec![format!("{verdict}  {event}  {:.2} ms of {} ms", trial.ms, trial.budget_ms)];
    if !trial.ran {
        rows.push("  it does not support this event, so it was not asked".to_owned());
    }
    let action = trial.action.as_ref().and_then(|action| serde_json::to_string_pretty(action).ok());
    match action.as_deref() {
        Some("{}") => rows.push("  no opinion".to_owned()),
        Some(action) => rows.extend(lines(action, SHOWN_LINES).iter().map(|line| format!("  {line}"))),
        None => {}
    }
    rows.extend(trial.log.iter().flat_map(|line| lines(line, SHOWN_LINES)).map(|line| format!("  log: {line}")));
    rows.extend(
        trial.warnings.iter().flat_map(|line| lines(line, SHOWN_LINES)).map(|line| format!("  warning: {line}")),
    );
    let problems = trial.error.iter().chain(trial.unmet.iter().flatten());
    rows.extend(problems.flat_map(|problem| lines(problem, SHOWN_LINES)).map(|line| format!("  error: {line}")));
    rows.join("\n")
}
