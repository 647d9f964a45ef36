//! What attempts leave in the state folder so that another process can find out how they ended.

use crate::contract::RunId;
use crate::run_executor::RunJob;
use dispatch_os::files::{self, create_dir_owner_only};
use dispatch_os::paths::safe_file_name;
use dispatch_os::time;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is older was left by a process that never came back for it.
const FORGOTTEN: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// The state folder of this crate.
#[derive(Clone)]
pub(super) struct RunStateFolder {
    state: PathBuf,
}

impl RunStateFolder {
    pub(super) fn new(state: PathBuf) -> Self {
        Self { state }
    }

    /// Where the end of a program is written.
    pub(super) fn exit_marker(&self, run: &RunId, attempt: u32) -> PathBuf {
        self.mark(run, attempt, "exit")
    }

    /// The same, in a folder that exists.
    pub(super) fn exit_marker_for(&self, job: &RunJob) -> PathBuf {
        // A marker that cannot be written costs a repetition after a crash and nothing else.
        let _ = create_dir_owner_only(&self.runs());
        self.exit_marker(&job.run, job.attempt)
    }

    /// Where it is written which input of which session an attempt became.
    pub(super) fn dispatch_mark(&self, run: &RunId, attempt: u32) -> PathBuf {
        self.mark(run, attempt, "dispatch")
    }

    /// Where it is written what an attempt prints while it goes.
    pub(super) fn live_output(&self, run: &RunId, attempt: u32) -> PathBuf {
        self.mark(run, attempt, "out")
    }

    /// A folder for the worktree of one attempt.
    pub(super) fn worktree(&self, run: &RunId, attempt: u32) -> PathBuf {
        self.worktrees().join(format!("{}.{attempt}", safe_file_name(&run.0)))
    }

    pub(super) fn worktrees(&self) -> PathBuf {
        self.state.join("worktrees")
    }

    /// Where the change is kept that a run offers.
    pub(super) fn patch(&self, run: &RunId) -> PathBuf {
        self.state.join("patches").join(format!("{}.patch", safe_file_name(&run.0)))
    }

    /// Removes the marks of an attempt whose end is stored.
    pub(super) fn clear(&self, run: &RunId, attempt: u32) {
        for mark in [self.exit_marker(run, attempt), self.dispatch_mark(run, attempt), self.live_output(run, attempt)] {
            // Most attempts leave only one of them.
            let _ = files::remove_file(mark);
        }
    }

    /// Removes what processes left that never came back for it.
    pub(super) fn sweep(&self) {
        let entries = files::read_dir(self.runs()).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| is_forgotten(path)) {
            let _ = files::remove_file(path);
        }
    }

    pub(super) fn runs(&self) -> PathBuf {
        self.state.join("runs")
    }

    fn mark(&self, run: &RunId, attempt: u32, kind: &str) -> PathBuf {
        self.runs().join(format!("{}.{attempt}.{kind}", safe_file_name(&run.0)))
    }
}

fn is_forgotten(path: &Path) -> bool {
    let modified = files::symlink_metadata(path).and_then(|found| found.modified());
    modified.is_ok_and(|at| time::wall_now().duration_since(at).is_ok_and(|age| age > FORGOTTEN))
}
