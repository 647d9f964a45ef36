//! `dispatch init`: makes the hosts call Dispatch, says what differs, and takes it back.

mod apply;
pub(crate) mod changes;
mod ci_workflow;
mod git;
pub(crate) mod host_detection;
pub(crate) mod hosts;
mod intents_mode;
mod layout;
mod mcp_file;
mod mcp_hosts;
mod overlap;
mod program;
pub(crate) mod registration_root;
mod report;
pub(crate) mod restore;
mod undo;

use dispatch_hook_dialects::register::{Layout, Scope};

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
pub(crate) use program::HOOK_PROGRAM;

use changes::{FileChange, InitChanges, McpServerPart, registrations};
use ci_workflow::CiService;
use git::GitPart;
use intents_mode::IntentModeName;
use layout::ModuleSet;
use registration_root::RegistrationRoot;
use report::{Action, ChosenHost, Report, ReportLine};
use undo::UndoExtent;

const NEXT: &str =
    "Next: `dispatch canary` checks that each host asks Dispatch. `dispatch init --undo` restores the files.";
#[derive(Debug, clap::Args)]
pub(crate) struct InitRequest {
    /// Register with this host; repeatable; default: the hosts found here
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Register with every host
    #[arg(long, conflicts_with = "hosts")]
    all: bool,
    /// Enable every built-in module, not only the guards
    #[arg(long, conflicts_with = "undo")]
    full: bool,
    /// Change nothing; report what differs
    #[arg(long, conflicts_with = "undo")]
    check: bool,
    /// Restore the files as they were before
    #[arg(long)]
    undo: bool,
    /// Register for all your projects, in your home folder
    #[arg(long)]
    user: bool,
    /// Also write .github/hooks.json, where VS Code used to look
    #[arg(long)]
    legacy_path: bool,
    /// Also register the MCP server and create the intent file, so that agents declare intents
    #[arg(long, conflicts_with_all = ["undo", "user"])]
    intents: bool,
    /// What becomes of changes outside an intent [default: as set; without a setting, a terminal is asked, else enforce]
    #[arg(long, value_enum, value_name = "MODE", requires = "intents")]
    intents_mode: Option<IntentModeName>,
    /// Also write a GitHub workflow that checks each pull request
    #[arg(long, value_enum, value_name = "SERVICE", requires = "intents")]
    ci: Option<CiService>,
    /// Let git start workspace hooks; existing git hooks keep running; alone, do nothing else
    #[arg(long, conflicts_with = "user")]
    git: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl InitRequest {
    /// Whether it is about git and not about hosts.
    fn is_about_git_alone(&self) -> bool {
        self.git && self.hosts.is_empty() && !self.all && !self.full && !self.intents && !self.legacy_path
    }
}

pub(crate) fn run(loaded: &Loaded, request: &InitRequest, printer: &Printer) -> Result<Status, Failure> {
    let place = if request.user { RegistrationRoot::user(loaded)? } else { RegistrationRoot::project(loaded)? };
    if request.is_about_git_alone() {
        return git_alone(&place, &GitPart::of(loaded)?, request, printer);
    }
    let git = if request.user { None } else { GitPart::find(loaded)? };
    let git = git.as_ref();
    match (request.undo, request.check) {
        (true, _) => {
            crate::policy_change::confirm(loaded, "take Dispatch's registration out of the hosts", printer)?;
            take_back(&place, request, git, printer)
        }
        (_, true) => {
            let status = check(&place, request, git, printer)?;
            Ok(if policy_is_whole(loaded, printer) { status } else { Status::No })
        }
        _ => {
            let mode = intents_mode::chosen(loaded, request, &place, printer)?;
            let is_own = mode.is_some() && is_own_settings(loaded);
            let status = register(&place, request, mode, git.filter(|_| request.git), printer)?;
            if is_own {
                super::trust::approve_own(loaded, &place.root.join(intents_mode::FILE))?;
            }
            Ok(status)
        }
    }
}

/// Whether nothing of the project's settings waits for the user's approval, so that a line of ours may be approved.
fn is_own_settings(loaded: &Loaded) -> bool {
    loaded.project_file().is_some_and(|file| super::trust::is_new_or_approved(loaded, &file))
}

/// Whether the policy files are whole and in force; says what is not.
fn policy_is_whole(loaded: &Loaded, printer: &Printer) -> bool {
    let broken: Vec<String> = super::check::problems(loaded).iter().map(super::check::PolicyProblem::text).collect();
    let weakened = super::check::weakened(loaded);
    let mut more = [super::canary::switched_off(loaded), super::module::not_running(loaded)].concat();
    more.extend(unreachable(loaded));
    broken.iter().chain(&weakened).chain(&more).for_each(|what| printer.warn(what));
    broken.is_empty() && weakened.is_empty() && more.is_empty()
}

fn git_alone(
    place: &RegistrationRoot,
    git: &GitPart,
    request: &InitRequest,
    printer: &Printer,
) -> Result<Status, Failure> {
    let (lines, status, closing) = match (request.undo, request.check) {
        (true, _) => {
            let lines = git.undo()?;
            let said = if lines.is_empty() { "nothing to undo" } else { "git no longer starts workspace hooks here" };
            (lines, Status::Done, said.to_owned())
        }
        (_, true) => {
            let lines = git.differences()?;
            let (status, said) = verdict(lines.len(), "dispatch init --git");
            (lines, status, said)
        }
        _ => (git.install()?, Status::Done, git::closing(git.workspace())),
    };
    Report { place, hosts: &[], lines, closing }.print(request.json.into(), printer)?;
    Ok(status)
}

/// What so many differences come to.
fn verdict(differences: usize, remedy: &str) -> (Status, String) {
    match differences {
        0 => (Status::Done, format!("up to date: `{remedy}` would change nothing")),
        1 => (Status::No, format!("1 file differs; `{remedy}` updates it")),
        many => (Status::No, format!("{many} files differ; `{remedy}` updates them")),
    }
}

fn register(
    place: &RegistrationRoot,
    request: &InitRequest,
    mode: Option<IntentModeName>,
    git: Option<&GitPart>,
    printer: &Printer,
) -> Result<Status, Failure> {
    let chosen = match explicit(request)? {
        Some(chosen) => chosen,
        None => hosts::detected(place)?
            .into_iter()
            .map(|one| ChosenHost { host: one.host, because: Some(one.because) })
            .collect(),
    };
    let mut survey = survey(place, &chosen, request);
    if let Some(mode) = mode {
        match intents_mode::change(place, mode) {
            Ok(change) => survey.changes.extend(change),
            Err(problem) => survey.problems.push(problem),
        }
    }
    refuse(&survey)?;
    let ids: Vec<&str> = chosen.iter().map(|one| one.host).collect();
    apply::apply(place, &survey.changes, &ids)?;
    let written = |change: &FileChange| {
        let action = if change.before.is_some() { Action::Updated } else { Action::Wrote };
        ReportLine::new(action, &change.path, &change.detail)
    };
    let mut lines: Vec<ReportLine> = survey.changes.iter().map(written).collect();
    lines.extend(survey.kept.iter().map(|(path, why)| ReportLine::new(Action::Kept, path, why)));
    if request.intents {
        lines.extend(ids.iter().filter_map(|host| skipped(host)));
    }
    if let Some(git) = git {
        lines.extend(git.install()?);
    }
    let mut closing = NEXT.to_owned();
    if request.intents {
        closing.push_str(intents_mode::in_force(mode, place).next_steps());
    }
    let report = Report { place, hosts: &chosen, lines, closing };
    report.print(request.json.into(), printer)?;
    report.advise(request.json.into(), printer);
    if let Some(missing) = program::missing_from_path(place) {
        printer.warn(&missing);
    }
    Ok(Status::Done)
}

/// What keeps agents from reaching Dispatch although they are registered in this project.
pub(crate) fn unreachable(loaded: &Loaded) -> Option<String> {
    let place = RegistrationRoot::project(loaded).ok()?;
    let is_registered = hosts::registered(&place).is_ok_and(|hosts| !hosts.is_empty());
    if is_registered { program::missing_from_path(&place) } else { None }
}

fn check(
    place: &RegistrationRoot,
    request: &InitRequest,
    git: Option<&GitPart>,
    printer: &Printer,
) -> Result<Status, Failure> {
    let git = match git {
        Some(git) if request.git || git.is_installed()? => Some(git),
        _ => None,
    };
    let chosen = match explicit(request)? {
        Some(chosen) => chosen,
        None => match hosts::registered(place)? {
            found if found.is_empty() && git.is_some() => {
                return git.map_or(Ok(Status::Done), |git| git_alone(place, git, request, printer));
            }
            found if found.is_empty() => {
                return Err(Failure { status: Status::No, ..Failure::usage("no host is registered here") }
                    .hint("`dispatch init` registers the hosts found here"));
            }
            found => found.into_iter().map(|host| ChosenHost { host, because: None }).collect(),
        },
    };
    let survey = survey(place, &chosen, request);
    refuse(&survey)?;
    let mut lines: Vec<ReportLine> = survey.changes.iter().flat_map(difference).collect();
    let of_git = git.map_or(Ok(Vec::new()), GitPart::differences)?;
    let remedy = if of_git.is_empty() { "dispatch init" } else { "dispatch init` and `dispatch init --git" };
    let (status, closing) = verdict(survey.changes.len() + of_git.len(), remedy);
    lines.extend(of_git);
    Report { place, hosts: &chosen, lines, closing }.print(request.json.into(), printer)?;
    Ok(status)
}

fn take_back(
    place: &RegistrationRoot,
    request: &InitRequest,
    git: Option<&GitPart>,
    printer: &Printer,
) -> Result<Status, Failure> {
    let (chosen, extent) = match explicit(request)? {
        Some(chosen) if !request.all => (chosen, UndoExtent::Hosts),
        _ => {
            (hosts::all().into_iter().map(|host| ChosenHost { host, because: None }).collect(), UndoExtent::Everything)
        }
    };
    let ids: Vec<&'static str> = chosen.iter().map(|one| one.host).collect();
    let mut lines = undo::undo(place, &ids, extent)?;
    if let Some(git) = git.filter(|_| request.git || extent == UndoExtent::Everything) {
        lines.extend(git.undo()?);
    }
    let closing = if lines.is_empty() { "nothing to undo" } else { "Dispatch is no longer registered" };
    let told: &[ChosenHost] = if extent == UndoExtent::Hosts { &chosen } else { &[] };
    Report { place, hosts: told, lines, closing: closing.to_owned() }.print(request.json.into(), printer)?;
    Ok(Status::Done)
}

/// The files that `init` writes or adds to in a project, for every host.
pub(crate) fn written_files() -> Vec<String> {
    let found = registrations(&hosts::all(), Scope::Project, Layout::WithLegacy, McpServerPart::Registered);
    found.into_iter().map(|file| file.path).collect()
}

/// The hosts that the command line names.
fn explicit(request: &InitRequest) -> Result<Option<Vec<ChosenHost>>, Failure> {
    let ids = match (request.all, request.hosts.is_empty()) {
        (true, _) => hosts::all(),
        (false, false) => hosts::named(&request.hosts)?,
        (false, true) => return Ok(None),
    };
    Ok(Some(ids.into_iter().map(|host| ChosenHost { host, because: None }).collect()))
}

fn survey(place: &RegistrationRoot, chosen: &[ChosenHost], request: &InitRequest) -> InitChanges {
    let ids: Vec<&'static str> = chosen.iter().map(|one| one.host).collect();
    let layout = if request.legacy_path { Layout::WithLegacy } else { Layout::Current };
    let set = if request.full { ModuleSet::Full } else { ModuleSet::Default };
    let mut survey = InitChanges::default();
    let server = if request.intents { McpServerPart::Registered } else { McpServerPart::Left };
    survey.of_registrations(place, &registrations(&ids, place.scope, layout, server));
    if request.intents {
        survey.of_intents(place);
    }
    if let Some(service) = request.ci {
        survey.of_workflow(place, service);
    }
    match place.scope {
        Scope::Project => survey.of_layout(place, set),
        Scope::User => survey.of_user_rules(place, set),
    }
    survey
}

fn refuse(survey: &InitChanges) -> Result<(), Failure> {
    if survey.problems.is_empty() {
        return Ok(());
    }
    let failure = Failure { messages: survey.problems.clone(), ..Failure::configuration(String::new()) };
    Err(failure.hint("nothing was changed; repair the file, or name the other hosts with --host"))
}

/// What is said about a host whose MCP servers cannot be set for a project.
fn skipped(host: &str) -> Option<ReportLine> {
    let why = mcp_hosts::user_only(host)?;
    Some(ReportLine::new(Action::Skipped, why.file, why.remedy))
}

fn difference(change: &FileChange) -> Vec<ReportLine> {
    if change.before.is_none() {
        return vec![ReportLine::new(Action::Missing, &change.path, &change.detail)];
    }
    change.differences.iter().map(|what| ReportLine::new(Action::Differs, &change.path, what)).collect()
}
