//! `dispatch state`: the cached state of a session, and making it again from the log.

use crate::app::Status;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::settings::Loaded;
use crate::workspace::Workspace;
use ext_hook_pipeline::contract::{RebuiltState, read_state, rebuild_session_state};
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum StateCommand {
    /// Print the state of a session
    Show {
        /// The session, by id or a prefix of it; default: the newest
        #[arg(value_name = "SID")]
        session: Option<String>,
    },
    /// Rebuild the state from the session's log and report what changed
    Rebuild {
        /// The session, by id or a prefix of it; default: the newest
        #[arg(value_name = "SID")]
        session: Option<String>,
    },
}

pub(crate) fn run(loaded: &Loaded, command: &StateCommand, printer: &Printer) -> Result<Status, Failure> {
    let workspace = Workspace::of(loaded);
    match command {
        StateCommand::Show { session } => show(&workspace, session.as_deref(), printer),
        StateCommand::Rebuild { session } => rebuild(&workspace, session.as_deref(), printer),
    }
}

fn show(workspace: &Workspace, session: Option<&str>, printer: &Printer) -> Result<Status, Failure> {
    let session = workspace.session(session)?;
    let state = read_state(&workspace.paths(&session.id)).ok_or_else(|| {
        Failure::configuration(format!("session {} has no state that can be read", session.id))
            .hint(format!("`dispatch state rebuild {}` makes it from the log", session.id))
    })?;
    printer.json(&state.to_value())?;
    Ok(Status::Done)
}

fn rebuild(workspace: &Workspace, session: Option<&str>, printer: &Printer) -> Result<Status, Failure> {
    let session = workspace.session(session)?;
    let Some(RebuiltState { before, after }) = rebuild_session_state(&workspace.paths(&session.id))? else {
        return Err(Failure::internal("another process is writing the state").hint("try again in a moment"));
    };
    let changes = changes(&before.clone().unwrap_or_default().to_value(), &after.to_value());
    printer.out(&match (&before, changes.as_slice()) {
        (None, _) => format!("session {} has its state again, from the log", session.id),
        (Some(_), []) => format!("session {}: the state matches the log", session.id),
        (Some(_), changes) => format!("session {}: rebuilt from the log\n{}", session.id, changes.join("\n")),
    });
    Ok(Status::Done)
}

/// One line for every value that differs.
fn changes(before: &Value, after: &Value) -> Vec<String> {
    let (before, after) = (leaves(before), leaves(after));
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let shown = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
    let line = |name: &String| format!("  {name}: {} -> {}", shown(before.get(name)), shown(after.get(name)));
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).map(line).collect()
}

/// Every value that is not an object, by its path.
fn leaves(value: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(fields) => {
                let below = |name: &String| if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                open.extend(fields.iter().map(|(name, value)| (below(name), value)));
            }
            other => {
                found.insert(path, other.clone());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_changed_is_named_by_its_path() {
        let before = json!({"core": {"phase": "PLANNING", "lastTurnId": 3}, "rlm": {"a": 1}});
        let after = json!({"core": {"phase": "EXECUTING", "lastTurnId": 3, "workId": "w001"}});
        let expected = [
            "  core.phase: \"PLANNING\" -> \"EXECUTING\"",
            "  core.workId: nothing -> \"w001\"",
            "  rlm.a: 1 -> nothing",
        ];
        assert_eq!(changes(&before, &after), expected);
        assert!(changes(&before, &before).is_empty());
    }
}
