//! `dispatch canary --live`: starts the installed agents in a scratch project, with a model that follows a script.

use dispatch_hook_dialects::dialect;
use dispatch_live_hosts::{self as live_hosts, AgentRun, HostDriver, LiveError, RunPlace, ScratchProject};
use dispatch_os::environment::PROGRAM_SUFFIX;
use dispatch_os::{environment, files};

use super::live_verdict::{LiveFinding, LiveHealth, ObservedProject, verdict};
use crate::app::Status;
use crate::failure::Failure;
use crate::printer::{Format, Printer, table};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest that an agent may take for two calls.
const TIMEOUT: Duration = Duration::from_secs(180);
/// Leaves a file where it runs.
const ALLOWED: &str = "echo live-canary > allowed.txt && cat allowed.txt";
/// Leaves a file where it runs, and takes the history of the scratch project with it.
const REFUSED: &str = "touch refused.txt; rm -rf .git";

pub(super) fn run(named: &[&'static str], format: Format, printer: &Printer) -> Result<Status, Failure> {
    let own = environment::current_program()?;
    let search_path = search_path(&own);
    if !has_program(&search_path, "dispatch-hook") {
        return Err(Failure { status: Status::No, ..Failure::usage("dispatch-hook is not installed") }
            .hint("hosts start `dispatch-hook`; put it beside `dispatch` or into a folder of PATH"));
    }
    let wanted: Vec<&'static str> =
        if named.is_empty() { live_hosts::all().iter().map(|host| host.id()).collect() } else { named.to_vec() };
    let mut findings = Vec::new();
    for id in wanted {
        let Some(host) = live_hosts::by_id(id) else {
            findings.push(LiveFinding::without_run(id, LiveHealth::NotDrivable, NOT_DRIVABLE.to_owned()));
            continue;
        };
        let Some(program) = find_program(&search_path, host.program()) else {
            let missing = format!("`{}` is not on PATH", host.program());
            findings.push(LiveFinding::without_run(id, LiveHealth::Absent, missing));
            continue;
        };
        let title = title(id);
        printer.note(&format!("{title}: running {}", program.display()));
        findings.push(check(host, &program, &own, &search_path).unwrap_or_else(|error| {
            let failure = Failure::of(Status::Internal, &error);
            let text = failure.messages.into_iter().chain(failure.causes).collect::<Vec<_>>().join(": ");
            LiveFinding::without_run(id, LiveHealth::Error, text)
        }));
    }
    report(&findings, format, printer)?;
    let is_bad = |finding: &LiveFinding| match finding.health {
        LiveHealth::Ok => false,
        // An agent that nobody asked for by name may be missing.
        LiveHealth::Absent | LiveHealth::NotDrivable => !named.is_empty(),
        LiveHealth::Fails | LiveHealth::Error => true,
    };
    let tested = findings.iter().any(|finding| finding.health == LiveHealth::Ok);
    Ok(if tested && !findings.iter().any(is_bad) { Status::Done } else { Status::No })
}

const NOT_DRIVABLE: &str = "this host needs its editor, an account or its maker's server, so it cannot be started here";

/// Registers Dispatch in a scratch project and lets the agent make both calls, in the mode that approves everything:
/// there nobody but Dispatch refuses.
fn check(host: &dyn HostDriver, program: &Path, own: &Path, search_path: &[PathBuf]) -> Result<LiveFinding, LiveError> {
    let project = ScratchProject::create(search_path.to_vec())?;
    project.prepare(own, &["init", "--host", host.id()])?;
    let version = project.version_of(program).unwrap_or_default();
    let steps = |_: &RunPlace| vec![host.shell(ALLOWED), host.shell(REFUSED)];
    let run: AgentRun = project.drive(host, program, host.most_permissive(), &version, &steps, TIMEOUT)?;
    let observed = ObservedProject {
        allowed_ran: project.content("allowed.txt").is_some(),
        refused_ran: project.content("refused.txt").is_some() || project.content(".git/HEAD").is_none(),
    };
    Ok(LiveFinding { host: host.id(), version, ..verdict(&run, &observed) })
}

/// The folder of this program first, so that hosts start the `dispatch-hook` that belongs to it.
fn search_path(own: &Path) -> Vec<PathBuf> {
    let path = environment::variable_os("PATH").unwrap_or_default();
    own.parent().map(Path::to_owned).into_iter().chain(environment::split_paths(&path)).collect()
}

fn has_program(search_path: &[PathBuf], name: &str) -> bool {
    find_program(search_path, name).is_some()
}

fn find_program(search_path: &[PathBuf], name: &str) -> Option<PathBuf> {
    let endings = if cfg!(windows) { vec![PROGRAM_SUFFIX, ".cmd"] } else { vec![""] };
    let candidates =
        search_path.iter().flat_map(|folder| endings.iter().map(move |end| folder.join(format!("{name}{end}"))));
    candidates.into_iter().find(|path| files::is_file(path))
}

fn title(id: &str) -> &str {
    dialect::by_name(id).map_or(id, |found| found.support().title)
}

fn report(findings: &[LiveFinding], format: Format, printer: &Printer) -> Result<(), Failure> {
    if format == Format::Json {
        return printer.json(&json!({ "allowed": ALLOWED, "refused": REFUSED, "hosts": findings }));
    }
    let row = |finding: &LiveFinding| {
        let (health, title) = (finding.health.word().to_owned(), title(finding.host).to_owned());
        vec![health, title, finding.version.clone(), finding.detail.clone()]
    };
    let rows: Vec<Vec<String>> = findings.iter().map(row).collect();
    printer.out(&format!(
        "in a scratch project each agent was made to run `{ALLOWED}`, and `{REFUSED}`, which must be refused\n\n{}",
        table(&rows)
    ));
    Ok(())
}
