//! A session as commands of the user read and change it, outside of any hook event.

use std::path::PathBuf;
use std::time::Duration;

use dispatch_hook_module::{
    Effects, EmittedRecord, Ids, MAIN_AGENT, Paths, Record, RuleException, SessionState, SessionView as _, hook_run_id,
    next_work_id,
};
use dispatch_os::files::replace;
use dispatch_os::{Ulid, time};
use serde_json::Value;

use crate::config::Config;
use crate::plan::{self, PlanLookup};
use crate::session_files::{
    Batch, DiskView, FilesError, Journal, STATE_LOCK, SessionFolder, next_run_ms, read_state, rebuild_state,
};

/// What stands in a record in place of a hook event.
const EVENT: &str = "Command";
/// How long to wait for a hook that is writing the state.
const STATE_LOCK_WAIT: Duration = Duration::from_secs(5);

/// The state of a session before and after it was made again from the log.
#[derive(Debug, Clone)]
pub struct RebuiltState {
    /// The state that was on disk; nothing if there was none that could be read.
    pub before: Option<SessionState>,
    /// The state that the log implies, which is on disk now.
    pub after: SessionState,
}

/// The state of a session: the snapshot, else what the log implies.
///
/// # Errors
/// When there is no snapshot and the log cannot be read.
pub fn session_state(paths: &Paths) -> Result<SessionState, FilesError> {
    match read_state(paths) {
        Some(state) => Ok(state),
        None => rebuild_state(&paths.events_file()),
    }
}

/// Makes `state.json` again from the session's log; nothing if another process keeps writing it.
///
/// # Errors
/// When the session's folder is a link, the log cannot be read or the state cannot be written.
pub fn rebuild_session_state(paths: &Paths) -> Result<Option<RebuiltState>, FilesError> {
    let folder = SessionFolder::check(paths)?;
    folder.create()?;
    let Some(_lock) = folder.lock(STATE_LOCK, STATE_LOCK_WAIT) else { return Ok(None) };
    let before = read_state(paths);
    let after = rebuild_state(&paths.events_file())?;
    replace(&paths.state_file(), &after.to_bytes())?;
    Ok(Some(RebuiltState { before, after }))
}

/// Appends records of a module to the session's log, and the patch with the first of them, so that the state can be
/// rebuilt from the log.
///
/// # Errors
/// When the session's folder is a link or something cannot be written.
pub fn append_to_session(
    paths: &Paths,
    state: &SessionState,
    module: &str,
    records: Vec<EmittedRecord>,
    patch: Option<Value>,
) -> Result<(), FilesError> {
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
    failures.into_iter().next().map_or(Ok(()), Err)
}

/// Refuses to go on where a link stands in place of the folder that the pipeline writes to.
///
/// # Errors
/// When `.ai/tmp` or the session's folder is a link, or `.ai` is one that leads out of the workspace.
pub fn check_work_folder(paths: &Paths) -> Result<(), FilesError> {
    SessionFolder::check(paths).map(|_| ())
}

/// The path of a file in the output folder of a module; the folders on the way are made.
///
/// # Errors
/// When the name leaves the folder or the path goes through a link.
pub fn module_output_file(paths: &Paths, module: &str, name: &str) -> Result<PathBuf, FilesError> {
    SessionFolder::check(paths)?.file_below(&paths.module_output(module), name)
}

/// The exceptions on record in the workspace, also those that ended.
#[must_use]
pub fn rule_exceptions(paths: &Paths) -> Vec<RuleException> {
    DiskView::new(paths).exceptions().to_vec()
}

/// Whether an exception for one call was used up.
#[must_use]
pub fn is_exception_used(paths: &Paths, exception: &RuleException) -> bool {
    exception.once && !DiskView::new(paths).take_exception(exception, Effects::DryRun)
}

/// The plan that a session works on.
#[must_use]
pub fn plan_in_force(paths: &Paths, state: &SessionState) -> PlanLookup {
    plan::find(paths, state, &DiskView::new(paths))
}

fn folder_name(paths: &Paths) -> String {
    paths.session_root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
