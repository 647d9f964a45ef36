//! Brings what is known of the graph database up to date, where the event has the time for it.

use serde_json::Value;

use super::open::OpenSession;
use super::setup::Setup;
use super::{Effects, EventRun};
use crate::neo4j::{ProbeDecision, SECTION, decide_probe, probe, probe_time_limit};

/// Asks the database if that is due, and hands back what the state should say from now on.
pub(super) fn refresh(run: &EventRun<'_>, session: &OpenSession<'_>, setup: &mut Setup) -> Option<Value> {
    if run.invocation.effects == Effects::DryRun {
        return None;
    }
    let section = setup.config.section(SECTION);
    let stamp_ms = match decide_probe(&run.event.name, section, &session.state, session.start_ms) {
        ProbeDecision::Keep => return None,
        ProbeDecision::Forget(patch) => return Some(patch),
        ProbeDecision::Ask { stamp_ms } => stamp_ms,
    };
    let report = probe(section, probe_time_limit(run.time_left())?);
    let patch = report.patch(stamp_ms);
    let known = session.state.capabilities().neo4j;
    let is_news = known.last_check_ts.is_none() || known.reachable;
    match report.note {
        Some(note) if report.reachable => setup.notes.push(format!("neo4j: {note}")),
        Some(note) if is_news => setup.problems.push(format!("neo4j is not reachable: {note}")),
        _ => {}
    }
    Some(patch)
}
