//! Opens a session: its state, the end of its log, its ids, and the locks that ids need.

use std::time::Duration;

use super::setup::Setup;
use super::{Effects, Scene, ids};
use crate::context::{Ids, SessionView};
use crate::session_files::{DiskView, Glance, HeldLock, STATE_LOCK, Shelter, TAIL_BYTES, next_run_ms, read_state};
use crate::state::{State, rebuild};

/// A session as one invocation finds it.
pub(super) struct OpenSession<'a> {
    pub(super) view: DiskView<'a>,
    /// What the end of the log tells.
    pub(super) glance: Glance,
    pub(super) state: State,
    /// Whether the state was made from the log, because there was no snapshot.
    pub(super) rebuilt: bool,
    pub(super) ids: Ids,
    pub(super) start_ms: i64,
    pub(super) ts: String,
    pub(super) shelter: Option<Shelter<'a>>,
    pub(super) state_lock: Option<HeldLock>,
}

impl<'a> OpenSession<'a> {
    pub(super) fn open(
        scene: &Scene<'a>,
        shelter: Option<Shelter<'a>>,
        setup: &Setup,
        delivery: Option<&str>,
        wait: Duration,
    ) -> Self {
        let view = DiskView::new(scene.paths);
        let mut snapshot = match scene.past {
            Some(past) => Some(past.state.clone()),
            None => read_state(scene.paths),
        };
        if let (None, Some(shelter)) = (&snapshot, &shelter) {
            // A disk that cannot be written to shows again when the log is written.
            let _ = shelter.create();
        }
        let allots = ids::allots(scene.event, snapshot.as_ref().unwrap_or(&State::default()));
        let state_lock = shelter.as_ref().filter(|_| allots).and_then(|shelter| shelter.lock(STATE_LOCK, wait));
        if state_lock.is_some() {
            snapshot = read_state(scene.paths);
        }
        let glance = Glance::at(&scene.paths.events_file(), TAIL_BYTES, delivery);
        let rebuilt = snapshot.is_none() && glance.has_lines;
        let state = match snapshot {
            Some(state) => state,
            None if rebuilt => rebuild(view.history()),
            None => State::default(),
        };
        let clock = scene.invocation.clock;
        let start_ms = clock.unix_ms();
        let run_ms = match (&shelter, scene.invocation.effects) {
            (Some(shelter), Effects::Commit) => next_run_ms(&shelter.lock_file("runs"), start_ms),
            _ => start_ms,
        };
        let turn = match scene.past {
            Some(past) => past.state.last_turn_id(),
            None => glance.last_turn_id,
        };
        let ids = ids::derive(scene.event, scene.session_id, &state, turn, &setup.config, run_ms);
        let ts = dispatch_os::time::rfc3339(start_ms);
        Self { view, glance, state, rebuilt, ids, start_ms, ts, shelter, state_lock }
    }
}
