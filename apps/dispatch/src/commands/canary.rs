//! `dispatch canary`: asks each registered command line about a call that must be refused.
//!
//! The call is only judged, never run. With `--live` the installed agents themselves make such calls, in a scratch project.

mod launch;
mod live;
mod live_verdict;
mod off_switches;
mod probe;
mod refusal;

use dispatch_hook_dialects::dialect;
use dispatch_hook_dialects::register::{Layout, RegisteredCommand, Scope, System};

use super::init::changes::{McpServerPart, RegistrationFile, registrations};
use super::init::host_detection::HostSurroundings as _;
use super::init::hosts;
use super::init::registration_root::RegistrationRoot;
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use crate::settings::Loaded;
use probe::Probe;
use refusal::{CanaryFinding, RegistrationHealth};
use serde_json::json;
use std::time::Duration;

/// As long as the shortest limit that is registered.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
pub(crate) struct CanaryRequest {
    /// Test this host; repeatable; default: every registered host
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Start the installed agents themselves, without a terminal, in a scratch project with a scripted model
    #[arg(long)]
    live: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(loaded: &Loaded, request: &CanaryRequest, printer: &Printer) -> Result<Status, Failure> {
    if request.live {
        return live::run(&hosts::named(&request.hosts)?, request.json.into(), printer);
    }
    let project = RegistrationRoot::project(loaded)?;
    let places: Vec<RegistrationRoot> = std::iter::once(project).chain(RegistrationRoot::user(loaded).ok()).collect();
    let named = hosts::named(&request.hosts)?;
    let mut findings = Vec::new();
    for place in &places {
        let registered = hosts::registered(place)?;
        let wanted = registered.iter().filter(|host| named.is_empty() || named.contains(host));
        findings.extend(wanted.map(|host| try_host(host, place, &places, loaded)));
    }
    let unregistered = |host: &&str| !findings.iter().any(|finding: &CanaryFinding| finding.host == *host);
    for host in named.into_iter().filter(unregistered).collect::<Vec<_>>() {
        let fix = format!("nothing is registered; run `dispatch init --host {host}`");
        findings.push(CanaryFinding::new(host, None, RegistrationHealth::Drift, fix));
    }
    if findings.is_empty() {
        return Err(Failure { status: Status::No, ..Failure::usage("no host is registered here") }
            .hint("`dispatch init` registers the hosts that are used here"));
    }
    report(&findings, request.json.into(), printer)?;
    let good = findings.iter().all(|finding| finding.health == RegistrationHealth::Ok);
    let broken = super::check::problems(loaded);
    broken.iter().for_each(|problem| printer.warn(&problem.text()));
    Ok(if good && broken.is_empty() { Status::Done } else { Status::No })
}

/// What switches the hooks of a registered host off, one sentence for each.
pub(crate) fn switched_off(loaded: &Loaded) -> Vec<String> {
    let project = RegistrationRoot::project(loaded).ok();
    let places: Vec<RegistrationRoot> = project.into_iter().chain(RegistrationRoot::user(loaded).ok()).collect();
    let mut found: Vec<String> = Vec::new();
    for host in places.iter().filter_map(|place| hosts::registered(place).ok()).flatten() {
        let title = dialect::by_name(host).map_or(host, |dialect| dialect.support().title);
        found.extend(off_switches::find(host, &places).map(|off| format!("{title}: {off}")));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Tries one host in one scope. The first place is the project, where the rules are.
fn try_host(
    host: &'static str,
    place: &RegistrationRoot,
    places: &[RegistrationRoot],
    loaded: &Loaded,
) -> CanaryFinding {
    let project = places.first().unwrap_or(place);
    let files = registrations(&[host], place.scope, Layout::Current, McpServerPart::Left);
    let scope = match place.scope {
        Scope::Project => "project",
        Scope::User => "user",
    };
    let found = |health, detail: String| CanaryFinding::new(host, Some(scope), health, detail);
    let Some(probe) = Probe::of(host, &project.root) else {
        return found(RegistrationHealth::Inconclusive, "this host has no event that can refuse a command".to_owned());
    };
    let (file, command) = match registered_command(&files, place, &probe) {
        Ok(Some(both)) => both,
        Ok(None) => {
            return found(RegistrationHealth::Drift, format!("{} is not registered; run `dispatch init`", probe.event));
        }
        Err(error) => return found(RegistrationHealth::Error, error),
    };
    if let Some(why) = probe.is_let_pass(&project.root, loaded) {
        return found(RegistrationHealth::Inconclusive, why);
    }
    if let Some(off) = off_switches::find(host, places) {
        return found(RegistrationHealth::Off, off);
    }
    if let Some(program) = launch::looked_up(&command.launch).filter(|program| !place.on_path(program)) {
        let missing = format!("the registered program `{program}` is not on PATH, so the host goes on without it");
        return found(RegistrationHealth::Error, missing);
    }
    let path = place.root.join(&file.path);
    let (health, detail) =
        refusal::check_refusal(&probe, &launch::run(&command.launch, &path, &probe, &project.root, TIMEOUT));
    if health != RegistrationHealth::Ok {
        return found(health, detail);
    }
    match drift(&files, place) {
        Some(difference) => found(RegistrationHealth::Drift, difference),
        None => found(RegistrationHealth::Ok, detail),
    }
}

fn registered_command<'a>(
    files: &'a [RegistrationFile],
    place: &RegistrationRoot,
    probe: &Probe,
) -> Result<Option<(&'a RegistrationFile, RegisteredCommand)>, String> {
    for file in files {
        let Some(text) = place.read(&file.path)? else { continue };
        for (_, target) in &file.targets {
            let commands =
                target.commands(&text, System::current()).map_err(|error| format!("{}: {error}", file.path))?;
            if let Some(command) = commands.into_iter().find(|command| command.event == probe.event) {
                return Ok(Some((file, command)));
            }
        }
    }
    Ok(None)
}

/// What differs from what `init` would write, although the probe was refused.
fn drift(files: &[RegistrationFile], place: &RegistrationRoot) -> Option<String> {
    let differences = files.iter().flat_map(|file| {
        let text = place.read(&file.path).unwrap_or_default();
        let lines = file.differences(text.as_deref(), place).unwrap_or_default();
        lines.into_iter().map(|line| format!("{}: {line}", file.path)).collect::<Vec<_>>()
    });
    let lines: Vec<String> = differences.collect();
    match lines.split_first() {
        None => None,
        Some((first, [])) => Some(first.clone()),
        Some((first, rest)) => Some(format!("{first} (and {} more; `dispatch init --check` lists them)", rest.len())),
    }
}

fn report(findings: &[CanaryFinding], format: Format, printer: &Printer) -> Result<(), Failure> {
    if format == Format::Json {
        return printer.json(&json!({ "command": probe::COMMAND, "hosts": findings }));
    }
    let row = |finding: &CanaryFinding| {
        let title = dialect::by_name(finding.host).map_or(finding.host, |found| found.support().title);
        let scope = finding.scope.unwrap_or("-");
        vec![finding.health.word().to_owned(), title.to_owned(), scope.to_owned(), finding.detail.clone()]
    };
    let rows: Vec<Vec<String>> = findings.iter().map(row).collect();
    printer.out(&format!(
        "asked about `{}`, which must be refused; it was judged, not run\n\n{}",
        probe::COMMAND,
        table(&rows)
    ));
    Ok(())
}
