//! `dispatch phase`: where the work of a session stands, and moving it on by hand, with a reason.

use crate::app::Status;
use crate::failure::Failure;
use crate::plain::one_line;
use crate::printer::{Format, Printer};
use crate::settings::Loaded;
use crate::workspace::Workspace;
use dispatch_hook_module::phase::Phase;
use dispatch_hook_module::state::{BlockedWork, merge};
use dispatch_hook_module::{EmittedRecord, RecordType, SessionState};
use dispatch_os::time;
use ext_hook_pipeline::contract::{append_to_session, session_state};
use serde_json::{Value, json};

const MAX_REASON_CHARS: usize = 300;
/// The module that owns the phase.
const MODULE: &str = "session";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum PhaseCommand {
    /// Print the phase of a session
    Show {
        /// The session, by id or a prefix of it; default: the newest
        #[arg(long, value_name = "SID")]
        session: Option<String>,
        /// Print one JSON object instead of text
        #[arg(long)]
        json: bool,
    },
    /// Set the phase of a session
    Set {
        /// UNINITIALIZED, PLANNING, EXECUTING, COMPLETE or BLOCKED
        #[arg(value_name = "PHASE", value_parser = phase)]
        phase: Phase,
        /// The reason, for the log
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The session, by id or a prefix of it; default: the newest
        #[arg(long, value_name = "SID")]
        session: Option<String>,
    },
}

pub(crate) fn run(loaded: &Loaded, command: &PhaseCommand, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::of(loaded);
    match command {
        PhaseCommand::Show { session, json } => show(&workspace, session.as_deref(), (*json).into(), printer),
        PhaseCommand::Set { phase, reason, session } => {
            crate::policy_change::confirm(loaded, &format!("set the phase to {}", phase.as_str()), printer)?;
            set(&workspace, session.as_deref(), *phase, reason, printer)
        }
    }
}

fn phase(name: &str) -> Result<Phase, String> {
    let names: Vec<&str> = Phase::ALL.into_iter().map(Phase::as_str).collect();
    Phase::named(name).ok_or_else(|| format!("a phase is one of {}", names.join(", ")))
}

fn show(workspace: &Workspace, session: Option<&str>, format: Format, printer: &Printer) -> Result<Status, Failure> {
    let session = workspace.session(session)?;
    let state = session_state(&workspace.paths(&session.id))?;
    let work = state.work_id().unwrap_or("none");
    let blocked = BlockedWork::of(&state);
    if format == Format::Json {
        let blocked = blocked.map(|work| {
            json!({"from": work.from, "trigger": work.trigger.as_str(), "why": work.why, "needsPerson": work.needs_person()})
        });
        let shown = json!({"session": session.id, "phase": state.phase(), "work": state.work_id(), "blocked": blocked});
        printer.json(&shown)?;
    } else {
        printer.out(&format!("session {}, work {work}: {}", session.id, state.phase().as_str()));
        if let Some(work) = blocked {
            printer.out(&format!("blocked by a {}: {}", work.trigger.as_str(), work.why));
            printer.note(&format!("hint: `dispatch phase set {} --reason TEXT` takes it up again", work.from.as_str()));
        }
    }
    Ok(Status::Done)
}

fn set(
    workspace: &Workspace,
    session: Option<&str>,
    phase: Phase,
    reason: &str,
    printer: &Printer,
) -> Result<Status, Failure> {
    let reason = one_line(reason, MAX_REASON_CHARS);
    if reason.is_empty() {
        return Err(Failure::usage("the reason is empty").hint("--reason TEXT goes into the log"));
    }
    let session = workspace.session(session)?;
    let paths = workspace.paths(&session.id);
    let state = session_state(&paths)?;
    let before = state.phase();
    if before == phase {
        printer.out(&format!("session {} is in {} already", session.id, phase.as_str()));
        return Ok(Status::Done);
    }
    let patch = change(&state, phase, time::unix_ms())?;
    let data = json!({"from": before.as_str(), "to": phase.as_str(), "reason": reason, "by": "user"});
    let record = EmittedRecord { kind: RecordType::PhaseChanged, data };
    append_to_session(&paths, &state, MODULE, vec![record], Some(patch))?;
    printer.out(&format!("session {}: {} -> {}", session.id, before.as_str(), phase.as_str()));
    Ok(Status::Done)
}

/// The patch that makes the change, unless the phase would go back.
fn change(state: &SessionState, phase: Phase, now_ms: i64) -> Result<Value, Failure> {
    let patch = match state.phase() {
        Phase::Blocked => json!({ "core": BlockedWork::lifted_patch(phase, now_ms) }),
        _ => json!({"core": {"phase": phase.as_str(), "phaseTs": now_ms}}),
    };
    if merge(state, &patch).0.phase() == phase {
        return Ok(patch);
    }
    let (now, wanted) = (state.phase().as_str(), phase.as_str());
    Err(Failure::usage(format!("cannot go back from {now} to {wanted}"))
        .hint("new work starts at PLANNING with its first prompt; from BLOCKED every phase can be set"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_moves_on_and_out_of_blocked_but_never_back() {
        let at = |phase: &str| SessionState::from_value(json!({"core": {"phase": phase, "phaseTs": 5}}));
        for (from, to, expected) in [
            ("PLANNING", Phase::Executing, true),
            ("PLANNING", Phase::Blocked, true),
            ("BLOCKED", Phase::Executing, true),
            ("BLOCKED", Phase::Planning, true),
            ("EXECUTING", Phase::Planning, false),
            ("COMPLETE", Phase::Executing, false),
        ] {
            assert_eq!(change(&at(from), to, 9).is_ok(), expected, "{from} -> {to:?}");
        }
        assert_eq!(phase("executing"), Ok(Phase::Executing));
        assert!(phase("DONE").is_err());
    }
}
