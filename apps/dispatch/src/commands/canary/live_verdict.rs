//! What a run of an agent shows: an allowed call ran, a refused one did not, and the model was told why.
//!
//! Pure.

use crate::plain::one_line;
use dispatch_live_hosts::{AgentEnd, AgentRun};
use serde::Serialize;

/// The longest part of a text that is shown.
const SHOWN_CHARS: usize = 160;
/// The rule that refuses the second call.
const CODE: &str = "UB01";

/// What became of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum LiveHealth {
    /// The allowed call ran, the other was refused and the model told.
    Ok,
    /// One of these is not so.
    Fails,
    /// The agent is not installed.
    Absent,
    /// The agent cannot be started without its editor or its maker's server.
    #[serde(rename = "NOT DRIVABLE")]
    NotDrivable,
    /// The agent did not get as far as a call.
    Error,
}

impl LiveHealth {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Fails => "FAILS",
            Self::Absent => "ABSENT",
            Self::NotDrivable => "NOT DRIVABLE",
            Self::Error => "ERROR",
        }
    }
}

/// What was found out about one agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LiveFinding {
    pub(super) host: &'static str,
    pub(super) version: String,
    pub(super) health: LiveHealth,
    /// Whether the allowed call ran; absent without a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) allowed_ran: Option<bool>,
    /// Whether the refused call did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused_stopped: Option<bool>,
    /// What the model was told about the refused call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) told: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seconds: Option<f64>,
    pub(super) detail: String,
}

impl LiveFinding {
    pub(super) fn without_run(host: &'static str, health: LiveHealth, detail: String) -> Self {
        Self {
            host,
            version: String::new(),
            health,
            allowed_ran: None,
            refused_stopped: None,
            told: None,
            seconds: None,
            detail,
        }
    }
}

/// What the calls left in the scratch project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObservedProject {
    pub(super) allowed_ran: bool,
    pub(super) refused_ran: bool,
}

/// Judges a run whose first step is allowed and whose second is refused.
pub(super) fn verdict(run: &AgentRun, observed: &ObservedProject) -> LiveFinding {
    let told = run.told(1).map(|told| one_line(told, SHOWN_CHARS));
    let (health, detail) = health(run, observed, told.as_deref());
    LiveFinding {
        allowed_ran: Some(observed.allowed_ran),
        refused_stopped: Some(run.asked(1) && !observed.refused_ran),
        told,
        seconds: Some((run.duration.as_secs_f64() * 10.0).round() / 10.0),
        ..LiveFinding::without_run("", health, detail)
    }
}

fn health(run: &AgentRun, observed: &ObservedProject, told: Option<&str>) -> (LiveHealth, String) {
    if observed.refused_ran {
        return (LiveHealth::Fails, "a call that must be refused ran".to_owned());
    }
    if run.requests.is_empty() {
        return (LiveHealth::Error, format!("it never asked its model; {}", ended(run)));
    }
    if let Some(tool) = run.not_offered(0) {
        return (LiveHealth::Error, format!("it does not offer its tool `{tool}`; {}", ended(run)));
    }
    if !observed.allowed_ran {
        let told = run
            .told(0)
            .map_or_else(|| ended(run), |told| format!("the model was told: {}", one_line(told, SHOWN_CHARS)));
        return (LiveHealth::Fails, format!("an allowed call did not run; {told}"));
    }
    if !run.asked(1) {
        return (LiveHealth::Error, format!("it did not come back after the first call; {}", ended(run)));
    }
    match told {
        Some(told) if told.contains(CODE) => (LiveHealth::Ok, told.to_owned()),
        Some(told) => (LiveHealth::Fails, format!("the call was not refused by Dispatch; the model was told: {told}")),
        None => (LiveHealth::Fails, format!("the call was refused and the model was not told; {}", ended(run))),
    }
}

fn ended(run: &AgentRun) -> String {
    let end = match &run.end {
        AgentEnd::Exited(code) => format!("it ended with exit code {code}"),
        AgentEnd::TimedOut => format!("it was stopped after {} s", run.duration.as_secs()),
        AgentEnd::Failed(why) => why.clone(),
    };
    let said = [&run.stderr, &run.stdout].into_iter().find(|text| !text.trim().is_empty());
    match said {
        Some(said) => format!("{end}: {}", one_line(said, SHOWN_CHARS)),
        None => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dispatch_live_hosts::ModelRequest;
    use serde_json::json;
    use std::time::Duration;

    fn request(results: &[&str], not_offered: Option<&str>) -> ModelRequest {
        ModelRequest {
            offered: vec!["shell".to_owned()],
            results: results.iter().map(|text| (*text).to_owned()).collect(),
            not_offered: not_offered.map(str::to_owned),
            body: json!({}),
        }
    }

    fn run(requests: Vec<ModelRequest>) -> AgentRun {
        AgentRun {
            end: AgentEnd::Exited(0),
            duration: Duration::from_secs(1),
            requests,
            stdout: String::new(),
            stderr: "why".to_owned(),
        }
    }

    #[test]
    fn each_way_to_fail_is_named() {
        let good = ObservedProject { allowed_ran: true, refused_ran: false };
        let none = ObservedProject { allowed_ran: false, refused_ran: false };
        let both = ObservedProject { allowed_ran: true, refused_ran: true };
        let told = |text: &str| vec![request(&[], None), request(&["ok"], None), request(&["ok", text], None)];
        let table = [
            (told("blocked: UB01: no"), good, LiveHealth::Ok, "UB01"),
            (told("blocked: UB01: no"), both, LiveHealth::Fails, "must be refused ran"),
            (told("the user said no"), good, LiveHealth::Fails, "not refused by Dispatch"),
            (vec![request(&[], None), request(&["ok"], None)], good, LiveHealth::Fails, "was not told"),
            (vec![request(&[], None), request(&["no"], None)], none, LiveHealth::Fails, "told: no"),
            (vec![request(&[], Some("shell"))], none, LiveHealth::Error, "does not offer its tool `shell`"),
            (vec![request(&[], None)], good, LiveHealth::Error, "did not come back"),
            (vec![], none, LiveHealth::Error, "never asked its model; it ended with exit code 0: why"),
        ];
        for (requests, observed, health, detail) in table {
            let found = verdict(&run(requests), &observed);
            assert_eq!(found.health, health, "{found:?}");
            assert!(found.detail.contains(detail), "{found:?}");
        }
    }
}
