//! Waits for a condition instead of for luck.

use std::time::{Duration, Instant};

/// Far beyond what any condition needs on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the condition holds; panics with the text when patience is at its end.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the process exists and is not merely waiting to be collected.
pub fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit_once(')').unwrap().1.trim_start();
        !state.starts_with(['Z', 'X'])
    })
}

/// Waits until none of the processes is alive.
pub fn all_gone(pids: &[i32]) {
    assert!(!pids.is_empty());
    eventually(&format!("{pids:?} gone"), || !pids.iter().any(|pid| is_alive(*pid)));
}
