//! The doctor's line about the graph database: asked now, beside what the newest session knows.

use super::{DoctorFinding, note, ok, wrong};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_module::HOOKS_FOLDER;
use dispatch_os::{files, time};
use ext_hook_pipeline::contract::neo4j::probe_configured;
use ext_hook_pipeline::contract::{Config, read_state};
use std::time::Duration;

const CHECK: &str = "neo4j";
/// A person waits, so the database may take longer than on the way of a hook event.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// Nothing where no database is configured.
pub(super) fn finding(loaded: &Loaded) -> Option<DoctorFinding> {
    let workspace = Workspace::of(loaded);
    if !files::is_dir(workspace.root.join(HOOKS_FOLDER)) {
        return None;
    }
    let (config, _) = Config::load(&workspace.paths("").config_file());
    let report = probe_configured(&config, TIME_LIMIT)?;
    let known = last_check(&workspace);
    let version = report.version.unwrap_or_else(|| "version unknown".to_owned());
    Some(match (report.reachable, report.note) {
        (true, None) => ok(CHECK, format!("reachable: {version}; {known}")),
        (true, Some(told)) => {
            note(CHECK, format!("reachable: {version}; {told}; {known}"), "nothing, if this is enough")
        }
        (false, told) => wrong(
            CHECK,
            format!("{}; {known}", told.unwrap_or_default()),
            "start it, or correct the section `neo4j` of .ai/hooks/config.json",
        ),
    })
}

/// What the session that was active last knows, and how old that is.
fn last_check(workspace: &Workspace) -> String {
    const NEVER: &str = "no session has checked it yet";
    let Some(session) = workspace.sessions().pop() else { return NEVER.to_owned() };
    let known = read_state(&workspace.paths(&session.id)).map(|state| state.capabilities().neo4j).unwrap_or_default();
    let Some(at_ms) = known.last_check_ts else { return NEVER.to_owned() };
    let seconds = time::unix_ms().saturating_sub(at_ms).max(0) / 1000;
    let found = if known.reachable { "reachable" } else { "not reachable" };
    format!("session {} found it {found} {seconds} s ago", session.id)
}
