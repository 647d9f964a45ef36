//! Finds and signals everything that descends from a child, also what left its process group.

use rustix::process::{Pid, Signal, kill_process_group};

#[cfg(target_os = "linux")]
pub(super) use linux::{ProcessFacts, boot_id, carries_token, facts_of, kill_exactly, scan};

#[cfg(target_os = "linux")]
mod linux;

const KILL_ROUNDS: usize = 5;

/// A child's tree as known so far. The leader must not have been reaped while this is used, so that
/// its id, and with it the id of the group, cannot have been given to anybody else.
pub(super) struct ProcessTree {
    leader: Pid,
    #[cfg(target_os = "linux")]
    token: String,
    /// Descendants outside the group: id and start time.
    #[cfg(target_os = "linux")]
    strays: std::collections::BTreeMap<i32, u64>,
}

impl ProcessTree {
    #[cfg(target_os = "linux")]
    pub(super) fn new(leader: Pid, token: &str) -> Self {
        Self { leader, token: token.to_owned(), strays: std::collections::BTreeMap::new() }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new(leader: Pid, _token: &str) -> Self {
        Self { leader }
    }

    /// Asks everything to end.
    pub(super) fn terminate(&mut self) {
        self.look_around();
        self.signal(Signal::TERM);
    }

    /// Kills everything, looking again for what was started meanwhile.
    pub(super) fn kill(&mut self) {
        for _ in 0..KILL_ROUNDS {
            let alive = self.look_around();
            self.signal(Signal::KILL);
            if alive == Some(0) || alive.is_none() {
                break;
            }
        }
    }

    /// Kills the group alone, which costs one system call.
    pub(super) fn kill_group(&self) {
        let _ = kill_process_group(self.leader, Signal::KILL);
    }

    /// How many of the tree are alive, the leader apart; `None` where the system cannot tell.
    #[cfg(target_os = "linux")]
    pub(super) fn look_around(&mut self) -> Option<usize> {
        let leader = self.leader.as_raw_pid();
        let found = linux::descendants(leader, &self.token, &self.strays);
        let alive = found.iter().filter(|facts| facts.pid != leader).count();
        self.strays = found
            .into_iter()
            .filter(|facts| facts.group != leader)
            .map(|facts| (facts.pid, facts.start_ticks))
            .collect();
        Some(alive)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn look_around(&mut self) -> Option<usize> {
        None
    }

    fn signal(&self, signal: Signal) {
        // Errors mean that there is nobody left, or nobody we may signal.
        let _ = kill_process_group(self.leader, signal);
        #[cfg(target_os = "linux")]
        for (pid, start_ticks) in &self.strays {
            kill_exactly(*pid, *start_ticks, signal);
        }
    }
}
