//! Locks between processes: bounded waits, exclusion, and freedom after a kill.

use std::path::Path;
use std::time::{Duration, Instant};

use dispatch_os::{FileLock, LockKind, OsError};

use super::role::{RoleProcess, say, stay};
use super::waiting::PATIENCE;

const ROUNDS: usize = 100;

pub fn hold_role(path: &str) {
    let _lock = FileLock::acquire(Path::new(path), LockKind::Exclusive, PATIENCE).unwrap();
    say("held");
    stay();
}

/// Reads, waits a moment and writes a number: without exclusion, numbers get lost.
pub fn count_role(path: &str) {
    let lock_path = Path::new(path).with_extension("lock");
    for _ in 0..ROUNDS {
        let _lock = FileLock::acquire(&lock_path, LockKind::Exclusive, PATIENCE).unwrap();
        let count: usize = std::fs::read_to_string(path).unwrap().parse().unwrap();
        std::thread::yield_now();
        std::fs::write(path, (count + 1).to_string()).unwrap();
    }
    say("done");
}

#[test]
fn the_wait_for_another_process_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let mut holder = RoleProcess::start("hold-lock", path.to_str().unwrap());
    assert_eq!(holder.hear(), "held");
    let wait = Duration::from_millis(100);
    let started = Instant::now();
    let error = FileLock::acquire(&path, LockKind::Exclusive, wait).unwrap_err();
    assert!(matches!(error, OsError::LockBusy { waited_ms, .. } if waited_ms >= 100), "{error}");
    assert!(error.hint().is_some());
    assert!(started.elapsed() < PATIENCE);
    assert!(FileLock::try_acquire(&path, LockKind::Shared).unwrap().is_none());
}

#[test]
fn killing_the_holder_frees_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let mut holder = RoleProcess::start("hold-lock", path.to_str().unwrap());
    assert_eq!(holder.hear(), "held");
    let waiter = {
        let path = path.clone();
        std::thread::spawn(move || FileLock::acquire(&path, LockKind::Exclusive, PATIENCE))
    };
    holder.kill();
    waiter.join().unwrap().unwrap();
}

#[test]
fn no_step_of_four_processes_is_lost_under_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("count");
    std::fs::write(&path, "0").unwrap();
    let processes: Vec<RoleProcess> =
        (0..4).map(|_| RoleProcess::start("count-under-lock", path.to_str().unwrap())).collect();
    for mut process in processes {
        assert_eq!(process.hear(), "done");
    }
    let count = std::fs::read_to_string(&path).unwrap();
    assert_eq!(count, (4 * ROUNDS).to_string());
}
