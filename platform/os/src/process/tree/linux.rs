//! Reads `/proc`: who descends from whom, since when, and under which token.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::process::launch::TOKEN_VARIABLE;

const MAX_STAT_BYTES: u64 = 4 * 1024;
const MAX_ENVIRONMENT_BYTES: u64 = 4 * 1024 * 1024;

/// What `/proc/<pid>/stat` says about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::process) struct ProcessFacts {
    pub(in crate::process) pid: i32,
    pub(in crate::process) parent: i32,
    pub(in crate::process) group: i32,
    /// Clock ticks between the boot and the start: with the pid, an identity that is never given twice.
    pub(in crate::process) start_ticks: u64,
    pub(in crate::process) is_dead: bool,
}

/// The facts of one process; `None` if it does not exist.
pub(in crate::process) fn facts_of(pid: i32) -> Option<ProcessFacts> {
    parse_stat(&read_proc(&format!("/proc/{pid}/stat"), MAX_STAT_BYTES)?)
}

/// Every living process that can be seen.
pub(in crate::process) fn scan() -> Vec<ProcessFacts> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(facts_of)
        .filter(|facts| !facts.is_dead)
        .collect()
}

/// The id of this boot, without which start times of another boot could be mistaken for ours.
pub(in crate::process) fn boot_id() -> Option<String> {
    let bytes = read_proc("/proc/sys/kernel/random/boot_id", MAX_STAT_BYTES)?;
    Some(String::from_utf8(bytes).ok()?.trim().to_owned())
}

/// Everything alive that is in the leader's group, descends from it, was known before, or carries the token.
pub(super) fn descendants(leader: i32, token: &str, known: &BTreeMap<i32, u64>) -> Vec<ProcessFacts> {
    let ourselves = std::process::id().cast_signed();
    let all = scan();
    let mut family: BTreeSet<i32> = all
        .iter()
        .filter(|facts| {
            facts.pid == leader
                || facts.group == leader
                || known.get(&facts.pid) == Some(&facts.start_ticks)
                || carries_token(facts.pid, token)
        })
        .map(|facts| facts.pid)
        .collect();
    // The leader may be dead already and no longer listed, but its children still name it.
    family.insert(leader);
    loop {
        let before = family.len();
        let children = all.iter().filter(|facts| family.contains(&facts.parent));
        let children: Vec<i32> = children.map(|facts| facts.pid).collect();
        family.extend(children);
        if family.len() == before {
            break;
        }
    }
    all.into_iter().filter(|facts| family.contains(&facts.pid) && facts.pid != ourselves && facts.pid > 1).collect()
}

/// Whether the environment that the process was started with holds this token.
pub(in crate::process) fn carries_token(pid: i32, token: &str) -> bool {
    let Some(environment) = read_proc(&format!("/proc/{pid}/environ"), MAX_ENVIRONMENT_BYTES) else {
        return false;
    };
    environment.split(|byte| *byte == 0).any(|entry| {
        entry
            .strip_prefix(TOKEN_VARIABLE.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .is_some_and(|value| value.split(|byte| *byte == b':').any(|part| part == token.as_bytes()))
    })
}

/// WakeSources this very process: the handle is taken first and the start time checked after, so that a
/// reused id is never hit.
pub(in crate::process) fn kill_exactly(pid: i32, start_ticks: u64, signal: Signal) -> bool {
    let Some(target) = Pid::from_raw(pid).filter(|_| pid > 1) else {
        return false;
    };
    let handle = pidfd_open(target, PidfdFlags::empty());
    if facts_of(pid).is_none_or(|facts| facts.start_ticks != start_ticks) {
        return false;
    }
    match handle {
        Ok(handle) => pidfd_send_signal(handle, signal).is_ok(),
        // Kernels before 5.3 and some sandboxes have no handles.
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => kill_process(target, signal).is_ok(),
        Err(_) => false,
    }
}

fn read_proc(path: &str, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The name in parentheses may hold anything, also parentheses and spaces, so the fields are taken after the last one.
fn parse_stat(stat: &[u8]) -> Option<ProcessFacts> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let pid = std::str::from_utf8(stat.get(..open)?).ok()?.trim();
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(ProcessFacts {
        pid: pid.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        is_dead: matches!(*fields.first()?, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_process_name_does_not_confuse_the_fields() {
        let stat = b"42 (a) Z (1 2 3) \xff) S 7 40 40 0 -1 4194560 1 0 0 0 5 6 0 0 20 0 1 0 987654 1 1";
        let facts = parse_stat(stat).unwrap();
        let expected = ProcessFacts { pid: 42, parent: 7, group: 40, start_ticks: 987_654, is_dead: false };
        assert_eq!(facts, expected);
    }

    #[test]
    fn short_or_broken_stats_are_no_facts() {
        for stat in [&b""[..], b"42", b"42 (a", b"42 (a) S", b"x (a) S 1 1 1", b") 1 ("] {
            assert_eq!(parse_stat(stat), None);
        }
    }

    #[test]
    fn this_process_is_alive_and_found() {
        let pid = std::process::id().cast_signed();
        let facts = facts_of(pid).unwrap();
        assert!(!facts.is_dead && facts.start_ticks > 0);
        assert!(scan().iter().any(|other| other.pid == pid));
        assert!(boot_id().is_some_and(|id| id.len() == 36));
        assert!(facts_of(i32::MAX).is_none());
    }

    #[test]
    fn a_process_with_another_start_time_is_not_signalled() {
        let mut child = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        let pid = child.id().cast_signed();
        let start_ticks = facts_of(pid).unwrap().start_ticks;
        assert!(!kill_exactly(pid, start_ticks + 1, Signal::KILL));
        assert!(child.try_wait().unwrap().is_none());
        assert!(kill_exactly(pid, start_ticks, Signal::KILL));
        child.wait().unwrap();
        assert!(!kill_exactly(pid, start_ticks, Signal::KILL));
    }
}
