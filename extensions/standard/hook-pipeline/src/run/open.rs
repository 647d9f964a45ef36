//! Opens a session: its state, the end of its log, its ids, and the locks that ids need.

use std::time::Duration;

use dispatch_hook_module::state::rebuild;
use dispatch_hook_module::{Ids, SessionState, SessionView};

use super::setup::Setup;
use super::{Effects, EventRun, ids};
use crate::session_files::{
    DiskView, HeldLock, LogSummary, STATE_LOCK, SessionFolder, TAIL_BYTES, next_run_ms, read_state,
};

/// A session as one invocation finds it.
pub(super) struct OpenSession<'a> {
    pub(super) view: DiskView<'a>,
    /// What the end of the log tells.
    pub(super) log: LogSummary,
    pub(super) state: SessionState,
    /// Whether the state was made from the log, because there was no snapshot.
    pub(super) rebuilt: bool,
    pub(super) ids: Ids,
    pub(super) start_ms: i64,
    pub(super) ts: String,
    pub(super) folder: Option<SessionFolder<'a>>,
    pub(super) state_lock: Option<HeldLock>,
}

impl<'a> OpenSession<'a> {
    pub(super) fn open(
        run: &EventRun<'a>,
        folder: Option<SessionFolder<'a>>,
        setup: &Setup,
        delivery: Option<&str>,
        wait: Duration,
    ) -> Self {
        let view = DiskView::new(run.paths).trusting(run.invocation.trust);
        let mut snapshot = match run.past {
            Some(past) => Some(past.state.clone()),
            None => read_state(run.paths),
        };
        if let (None, Some(folder)) = (&snapshot, &folder) {
            // A disk that cannot be written to shows again when the log is written.
            let _ = folder.create();
        }
        let allots = ids::allots(run.event, snapshot.as_ref().unwrap_or(&SessionState::default()));
        let state_lock = folder.as_ref().filter(|_| allots).and_then(|folder| folder.lock(STATE_LOCK, wait));
        if state_lock.is_some() {
            snapshot = read_state(run.paths);
        }
        let log = LogSummary::at(&run.paths.events_file(), TAIL_BYTES, delivery);
        let rebuilt = snapshot.is_none() && log.has_lines;
        let state = match snapshot {
            Some(state) => state,
            None if rebuilt => rebuild(view.history()),
            None => SessionState::default(),
        };
        let clock = run.invocation.clock;
        let start_ms = clock.unix_ms();
        let run_ms = match (&folder, run.invocation.effects) {
            (Some(folder), Effects::Commit) => next_run_ms(&folder.lock_file("runs"), start_ms),
            _ => start_ms,
        };
        let turn = match run.past {
            Some(past) => past.state.last_turn_id(),
            None => log.last_turn_id,
        };
        let ids = ids::derive(run.event, run.session_id, &state, turn, &setup.config, run_ms);
        let ts = dispatch_os::time::rfc3339(start_ms);
        Self { view, log, state, rebuilt, ids, start_ms, ts, folder, state_lock }
    }
}
