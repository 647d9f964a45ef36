//! What a command of the user's leaves in a session: records in the log, and the state they imply.

use crate::failure::Failure;
use dispatch_hook_module::{EmittedRecord, Ids, MAIN_AGENT, Paths, Record, SessionState, hook_run_id, next_work_id};
use dispatch_os::{Ulid, time};
use ext_hook_pipeline::contract::{Batch, Config, Journal, SessionFolder, next_run_ms, read_state, rebuild_state};
use serde_json::Value;

/// What stands in a record in place of a hook event.
const EVENT: &str = "Command";

/// The state of a session: the snapshot, else what the log implies.
pub(crate) fn state_of(paths: &Paths) -> Result<SessionState, Failure> {
    match read_state(paths) {
        Some(state) => Ok(state),
        None => Ok(rebuild_state(&paths.events_file())?),
    }
}

/// Writes records of a module, and the patch with the first of them, so that the state can be rebuilt from the log.
pub(crate) fn write(
    paths: &Paths,
    state: &SessionState,
    module: &str,
    records: Vec<EmittedRecord>,
    patch: Option<Value>,
) -> Result<(), Failure> {
    let folder = SessionFolder::check(paths)?;
    folder.create()?;
    let now_ms = next_run_ms(&folder.lock_file("runs"), time::unix_ms());
    let ts = time::rfc3339(now_ms);
    let ids = Ids {
        session_id: state.text("core", "sessionId").map_or_else(|| folder_name(paths), str::to_owned),
        work_id: state.work_id().map_or_else(|| next_work_id(None), str::to_owned),
        agent_id: MAIN_AGENT.to_owned(),
        turn_id: state.last_turn_id(),
        hook_run_id: hook_run_id(EVENT, state.last_turn_id(), now_ms),
    };
    let mut carried = patch.clone();
    let records = records.into_iter().map(|emitted| {
        let mut data = emitted.data;
        if let (Some(fields), Some(patch)) = (data.as_object_mut(), carried.take()) {
            fields.insert("statePatch".to_owned(), patch);
        }
        Record::new(Ulid::generate().to_string(), ts.clone(), &ids, EVENT, emitted.kind, module, data)
    });
    let batch = Batch { records: records.collect(), patches: patch.into_iter().collect(), ..Batch::default() };
    let redactor = Config::load(&paths.config_file()).0.redactor();
    let journal = Journal { folder, redactor: &redactor };
    let failures = journal.commit(batch, None, &format!("{ts} {}", ids.hook_run_id));
    match failures.into_iter().next() {
        Some(failure) => Err(failure.into()),
        None => Ok(()),
    }
}

fn folder_name(paths: &Paths) -> String {
    paths.session_root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
