//! `dispatch doctor`: what is configured, found and wrong, and how to fix it.

mod agent;
mod channels;
mod database;
mod hooks;
mod private_files;
mod queue;
mod routing;

use super::config::withheld;
use super::{check, ext};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::{FileState, Loaded};
use dispatch_contracts::extension::Extension;
use dispatch_kernel::services::config::ConfigProblem;
use dispatch_os::process::ChildSpec;
use dispatch_os::{environment, files};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a program may take to say its version.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::commands) enum CheckHealth {
    Ok,
    Note,
    Wrong,
}

/// One line of the report.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct DoctorFinding {
    pub(in crate::commands) check: &'static str,
    pub(in crate::commands) health: CheckHealth,
    pub(in crate::commands) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::commands) fix: Option<String>,
}

pub(crate) fn run(
    loaded: &Loaded,
    extensions: Vec<Arc<dyn Extension>>,
    format: Format,
    printer: &Printer,
) -> Result<Status, Failure> {
    let findings = all_findings(loaded, extensions);
    let wrong = findings.iter().filter(|finding| finding.health == CheckHealth::Wrong).count();
    match format {
        Format::Json => printer.json(&serde_json::json!({ "healthy": wrong == 0, "findings": findings }))?,
        Format::Text => printer.out(&report(&findings, wrong)),
    }
    Ok(if wrong == 0 { Status::Done } else { Status::No })
}

/// Every check.
pub(in crate::commands) fn all_findings(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Vec<DoctorFinding> {
    let mut findings =
        vec![program(), folder("config folder", &loaded.dirs.config), folder("data folder", &loaded.dirs.data)];
    findings.push(project(loaded));
    findings.extend(settings_files(loaded));
    findings.extend(policy(loaded));
    findings.push(git());
    findings.extend(private_files::findings(&loaded.dirs.data));
    findings.extend(agent::storage(loaded, &extensions));
    findings.extend(queue::waiting(loaded, &extensions));
    findings.extend(routing::findings(loaded, &extensions));
    findings.extend(channels::findings(loaded, &extensions));
    findings.push(agent::model(loaded));
    findings.extend(database::finding(loaded));
    findings.extend(hooks::finding(loaded));
    findings.extend(extension_states(loaded, extensions));
    findings
}

/// The line about a model that was chosen.
pub(in crate::commands) fn model_finding(chosen: &crate::running::ChosenModel) -> DoctorFinding {
    agent::finding(chosen)
}

fn report(findings: &[DoctorFinding], wrong: usize) -> String {
    let row = |finding: &DoctorFinding| {
        let mark = match finding.health {
            CheckHealth::Ok => "ok",
            CheckHealth::Note => "note",
            CheckHealth::Wrong => "WRONG",
        };
        let fix = finding.fix.as_ref().map(|fix| format!(" -> {fix}")).unwrap_or_default();
        vec![mark.to_owned(), finding.check.to_owned(), format!("{}{fix}", finding.detail)]
    };
    let verdict = match wrong {
        0 => "everything needed is in order".to_owned(),
        1 => "1 thing is wrong".to_owned(),
        many => format!("{many} things are wrong"),
    };
    format!("{}\n\n{verdict}", table(&findings.iter().map(row).collect::<Vec<_>>()))
}

fn ok(check: &'static str, detail: impl Into<String>) -> DoctorFinding {
    DoctorFinding { check, health: CheckHealth::Ok, detail: detail.into(), fix: None }
}

fn note(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> DoctorFinding {
    DoctorFinding { check, health: CheckHealth::Note, detail: detail.into(), fix: Some(fix.into()) }
}

fn wrong(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> DoctorFinding {
    DoctorFinding { check, health: CheckHealth::Wrong, detail: detail.into(), fix: Some(fix.into()) }
}

fn program() -> DoctorFinding {
    let place = environment::current_program()
        .map_or_else(|_| "an unknown place".to_owned(), |path| path.display().to_string());
    ok("program", format!("dispatch {} at {place}", env!("CARGO_PKG_VERSION")))
}

/// A folder that is not there yet is fine when it can be made.
fn folder(check: &'static str, path: &Path) -> DoctorFinding {
    let place = path.display();
    let existing = path.ancestors().find(|folder| files::exists(folder));
    match existing {
        Some(found) if !files::is_dir(found) => {
            wrong(check, format!("{place}: {} is a file", found.display()), "move the file away, or set DISPATCH_HOME")
        }
        Some(found) if !writable(found) => wrong(
            check,
            format!("{place} cannot be written"),
            "change its permissions, or set DISPATCH_HOME to a folder you own",
        ),
        Some(found) if found == path => ok(check, place.to_string()),
        _ => ok(check, format!("{place} (created when needed)")),
    }
}

fn writable(folder: &Path) -> bool {
    let probe = folder.join(format!(".dispatch-{}", dispatch_os::ids::hex_id(12)));
    let made = files::create_new(&probe, files::Access::OwnerOnly).is_ok();
    if made {
        // What could be made can be removed; if not, the next probe has another name.
        let _ = files::remove_file(&probe);
    }
    made
}

fn project(loaded: &Loaded) -> DoctorFinding {
    match &loaded.project {
        Some(root) => ok("project", root.path.display().to_string()),
        None => note("project", "not inside a project", "run this inside a git repository"),
    }
}

fn settings_files(loaded: &Loaded) -> Vec<DoctorFinding> {
    let finding = |file: &crate::settings::SettingsFile| {
        let place = file.path.display();
        match &file.state {
            FileState::Absent => ok("settings", format!("{place} (missing; defaults apply)")),
            FileState::Read => ok("settings", place.to_string()),
            FileState::Withheld { .. } => note("settings", withheld(file).unwrap_or_default(), "dispatch trust"),
        }
    };
    let problem = |problem: &ConfigProblem| {
        wrong("settings", problem.to_string(), problem.hint.as_deref().unwrap_or("correct it"))
    };
    loaded.files.iter().map(finding).chain(loaded.problems().iter().map(problem)).collect()
}

fn policy(loaded: &Loaded) -> Vec<DoctorFinding> {
    let broken = check::problems(loaded).into_iter();
    let broken = broken.map(|problem| wrong("policy", problem.text(), "`dispatch check` lists what is wrong"));
    let weakened = check::weakened(loaded).into_iter();
    let weakened = weakened.map(|what| wrong("policy", what, "look at it, then `dispatch trust` or take it out"));
    let off = super::canary::switched_off(loaded).into_iter();
    let off = off.map(|what| wrong("hosts", what, "take the switch out; `dispatch canary` tries each host"));
    let unreachable = super::init::unreachable(loaded).into_iter();
    let unreachable = unreachable.map(|what| wrong("hosts", what, "`dispatch canary` tries each host"));
    let modules = super::module::not_running(loaded).into_iter();
    let modules = modules.map(|what| wrong("modules", what, "`dispatch trust`, or take it out of the manifest"));
    broken.chain(weakened).chain(off).chain(unreachable).chain(modules).collect()
}

fn git() -> DoctorFinding {
    let outcome = ChildSpec::new("git").arg("--version").timeout(PROBE_TIMEOUT).run();
    if outcome.succeeded() {
        ok("git", outcome.stdout.text().trim().to_owned())
    } else {
        note("git", "git did not answer", "install git; projects and traces need it")
    }
}

fn extension_states(loaded: &Loaded, extensions: Vec<Arc<dyn Extension>>) -> Vec<DoctorFinding> {
    let found = match ext::status(loaded, extensions) {
        Ok(found) => found,
        Err(failure) => return vec![wrong("extensions", failure.messages.join("; "), "report this as a bug")],
    };
    if found.is_empty() {
        return vec![ok("extensions", "none are switched on")];
    }
    let finding = |status: &dispatch_kernel::host::ExtensionStatus| {
        let (state, reason) = ext::state_words(&status.state);
        match state {
            "active" | "waiting" | "stopped" => ok("extension", format!("{} is {state}", status.id)),
            "disabled" => wrong(
                "extension",
                format!("{} is disabled: {reason}", status.id),
                format!("dispatch ext enable {}", status.id),
            ),
            _ => wrong(
                "extension",
                format!("{} {state}: {reason}", status.id),
                format!("`dispatch ext info {}` has the details", status.id),
            ),
        }
    };
    found.iter().map(finding).collect()
}
