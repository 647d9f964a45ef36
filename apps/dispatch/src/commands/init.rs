//! `dispatch init`: makes the hosts call Dispatch, says what differs, and takes it back.

mod apply;
mod git;
pub(crate) mod hosts;
mod layout;
mod mcp_file;
mod mcp_hosts;
mod overlap;
pub(crate) mod place;
mod program;
mod report;
pub(crate) mod restore;
mod signs;
pub(crate) mod survey;
mod undo;

use dispatch_hook_dialects::register::{Layout, Scope};

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use git::GitPart;
use layout::ModuleSet;
use place::Place;
use report::{Action, Chosen, Line, Report};
use survey::{Change, Server, Survey, registrations};
use undo::Extent;

#[derive(Debug, clap::Args)]
pub(crate) struct InitRequest {
    /// Register with this host; can be given several times. Default: the hosts that are found here
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Register with every host
    #[arg(long, conflicts_with = "hosts")]
    all: bool,
    /// Switch on every native module, not only the guards
    #[arg(long, conflicts_with = "undo")]
    full: bool,
    /// Change nothing; say what differs
    #[arg(long, conflicts_with = "undo")]
    check: bool,
    /// Put back what was there before
    #[arg(long)]
    undo: bool,
    /// Register for all your projects, in your home folder
    #[arg(long)]
    user: bool,
    /// Also write .github/hooks.json, where VS Code used to look
    #[arg(long)]
    legacy_path: bool,
    /// Also let the agents declare their intent: registers the MCP server and makes the intent file
    #[arg(long, conflicts_with_all = ["undo", "user"])]
    intents: bool,
    /// Let git start the workspace's hooks; the hooks of git that are there go on running. Alone, it does only that
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
    let place = if request.user { Place::user(loaded)? } else { Place::project(loaded)? };
    if request.is_about_git_alone() {
        return git_alone(&place, &GitPart::of(loaded)?, request, printer);
    }
    let git = if request.user { None } else { GitPart::find(loaded)? };
    let git = git.as_ref();
    match (request.undo, request.check) {
        (true, _) => take_back(&place, request, git, printer),
        (_, true) => check(&place, request, git, printer),
        _ => register(&place, request, git.filter(|_| request.git), printer),
    }
}

fn git_alone(place: &Place, git: &GitPart, request: &InitRequest, printer: &Printer) -> Result<Status, Failure> {
    let (lines, status, closing) = match (request.undo, request.check) {
        (true, _) => {
            let lines = git.undo()?;
            let said = if lines.is_empty() { "there was nothing to undo" } else { "git no longer starts hooks here" };
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
        0 => (Status::Done, format!("everything is as `{remedy}` would write it")),
        1 => (Status::No, format!("1 file differs; `{remedy}` puts it right")),
        many => (Status::No, format!("{many} files differ; `{remedy}` puts them right")),
    }
}

fn register(place: &Place, request: &InitRequest, git: Option<&GitPart>, printer: &Printer) -> Result<Status, Failure> {
    let chosen = match explicit(request)? {
        Some(chosen) => chosen,
        None => hosts::detected(place)?
            .into_iter()
            .map(|one| Chosen { host: one.host, because: Some(one.because) })
            .collect(),
    };
    let survey = survey(place, &chosen, request);
    refuse(&survey)?;
    let ids: Vec<&str> = chosen.iter().map(|one| one.host).collect();
    apply::apply(place, &survey.changes, &ids)?;
    let written = |change: &Change| {
        let action = if change.before.is_some() { Action::Updated } else { Action::Wrote };
        Line::new(action, &change.path, &change.detail)
    };
    let mut lines: Vec<Line> = survey.changes.iter().map(written).collect();
    lines.extend(survey.kept.iter().map(|(path, why)| Line::new(Action::Kept, path, why)));
    if request.intents {
        lines.extend(ids.iter().filter_map(|host| skipped(host)));
    }
    if let Some(git) = git {
        lines.extend(git.install()?);
    }
    let closing = "`dispatch canary` proves that each host really asks; `dispatch init --undo` puts everything back.";
    let report = Report { place, hosts: &chosen, lines, closing: closing.to_owned() };
    report.print(request.json.into(), printer)?;
    report.advise(request.json.into(), printer);
    Ok(Status::Done)
}

fn check(place: &Place, request: &InitRequest, git: Option<&GitPart>, printer: &Printer) -> Result<Status, Failure> {
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
                    .hint("`dispatch init` registers the hosts that are used here"));
            }
            found => found.into_iter().map(|host| Chosen { host, because: None }).collect(),
        },
    };
    let survey = survey(place, &chosen, request);
    refuse(&survey)?;
    let mut lines: Vec<Line> = survey.changes.iter().flat_map(difference).collect();
    let of_git = git.map_or(Ok(Vec::new()), GitPart::differences)?;
    let remedy = if of_git.is_empty() { "dispatch init" } else { "dispatch init` and `dispatch init --git" };
    let (status, closing) = verdict(survey.changes.len() + of_git.len(), remedy);
    lines.extend(of_git);
    Report { place, hosts: &chosen, lines, closing }.print(request.json.into(), printer)?;
    Ok(status)
}

fn take_back(
    place: &Place,
    request: &InitRequest,
    git: Option<&GitPart>,
    printer: &Printer,
) -> Result<Status, Failure> {
    let (chosen, extent) = match explicit(request)? {
        Some(chosen) if !request.all => (chosen, Extent::Hosts),
        _ => (hosts::all().into_iter().map(|host| Chosen { host, because: None }).collect(), Extent::Everything),
    };
    let ids: Vec<&'static str> = chosen.iter().map(|one| one.host).collect();
    let mut lines = undo::undo(place, &ids, extent)?;
    if let Some(git) = git.filter(|_| request.git || extent == Extent::Everything) {
        lines.extend(git.undo()?);
    }
    let closing = if lines.is_empty() { "there was nothing to undo" } else { "Dispatch is no longer registered" };
    let told: &[Chosen] = if extent == Extent::Hosts { &chosen } else { &[] };
    Report { place, hosts: told, lines, closing: closing.to_owned() }.print(request.json.into(), printer)?;
    Ok(Status::Done)
}

/// The hosts that the command line names.
fn explicit(request: &InitRequest) -> Result<Option<Vec<Chosen>>, Failure> {
    let ids = match (request.all, request.hosts.is_empty()) {
        (true, _) => hosts::all(),
        (false, false) => hosts::named(&request.hosts)?,
        (false, true) => return Ok(None),
    };
    Ok(Some(ids.into_iter().map(|host| Chosen { host, because: None }).collect()))
}

fn survey(place: &Place, chosen: &[Chosen], request: &InitRequest) -> Survey {
    let ids: Vec<&'static str> = chosen.iter().map(|one| one.host).collect();
    let layout = if request.legacy_path { Layout::WithLegacy } else { Layout::Current };
    let set = if request.full { ModuleSet::Full } else { ModuleSet::Default };
    let mut survey = Survey::default();
    let server = if request.intents { Server::Registered } else { Server::Left };
    survey.of_registrations(place, &registrations(&ids, place.scope, layout, server));
    if request.intents {
        survey.of_intents(place);
    }
    if place.scope == Scope::Project {
        survey.of_layout(place, set);
    }
    survey
}

fn refuse(survey: &Survey) -> Result<(), Failure> {
    if survey.problems.is_empty() {
        return Ok(());
    }
    let failure = Failure { messages: survey.problems.clone(), ..Failure::configuration(String::new()) };
    Err(failure.hint("nothing was changed; repair the file, or name only the other hosts with --host"))
}

/// What is said about a host whose MCP servers cannot be set for a project.
fn skipped(host: &str) -> Option<Line> {
    let why = mcp_hosts::user_only(host)?;
    Some(Line::new(Action::Skipped, why.file, why.remedy))
}

fn difference(change: &Change) -> Vec<Line> {
    if change.before.is_none() {
        return vec![Line::new(Action::Missing, &change.path, &change.detail)];
    }
    change.differences.iter().map(|what| Line::new(Action::Differs, &change.path, what)).collect()
}
