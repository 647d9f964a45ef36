//! Which of the runs that are due begin now.
//!
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

/// A run that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunCandidate {
    pub(crate) number: u64,
    pub(crate) hook: String,
    pub(crate) subject: String,
    pub(crate) due_ms: u64,
}

/// What a hook may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HookRoom {
    /// How many of its runs go at a time.
    pub(crate) concurrency: u32,
    /// How many may begin now.
    pub(crate) allowance: u32,
}

/// Chooses, given the hooks and subjects that run already. The hook with the fewest runs comes first, so that none
/// waits behind the backlog of another; within it the oldest.
pub(crate) fn choose(
    mut candidates: Vec<RunCandidate>,
    running: &[(String, String)],
    rooms: &BTreeMap<String, HookRoom>,
    cap: u32,
) -> Vec<u64> {
    let mut going: BTreeMap<String, u32> = BTreeMap::new();
    for (hook, _) in running {
        *going.entry(hook.clone()).or_default() += 1;
    }
    let mut taken: BTreeSet<(String, String)> = running.iter().cloned().collect();
    let mut begun: BTreeMap<String, u32> = BTreeMap::new();
    let mut free = (cap as usize).saturating_sub(running.len());
    let mut chosen = Vec::new();
    candidates.sort_by_key(|candidate| (candidate.due_ms, candidate.number));
    while free > 0 {
        candidates.retain(|candidate| {
            let room = rooms.get(&candidate.hook).copied().unwrap_or(HookRoom { concurrency: 0, allowance: 0 });
            let of = |counts: &BTreeMap<String, u32>| counts.get(&candidate.hook).copied().unwrap_or_default();
            let key = (candidate.hook.clone(), candidate.subject.clone());
            of(&going) < room.concurrency && of(&begun) < room.allowance && !taken.contains(&key)
        });
        let count = |candidate: &RunCandidate| going.get(&candidate.hook).copied().unwrap_or_default();
        let Some(at) = (0..candidates.len()).min_by_key(|at| candidates.get(*at).map(count)) else { break };
        let next = candidates.remove(at);
        *going.entry(next.hook.clone()).or_default() += 1;
        *begun.entry(next.hook.clone()).or_default() += 1;
        taken.insert((next.hook, next.subject));
        chosen.push(next.number);
        free -= 1;
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidate(number: u64, hook: &str, subject: &str, due_ms: u64) -> RunCandidate {
        RunCandidate { number, hook: hook.into(), subject: subject.into(), due_ms }
    }

    fn rooms(of: &[(&str, u32)]) -> BTreeMap<String, HookRoom> {
        let room = |concurrency| HookRoom { concurrency, allowance: u32::MAX };
        of.iter().map(|(hook, concurrency)| ((*hook).to_owned(), room(*concurrency))).collect()
    }

    #[test]
    fn a_backlog_of_one_hook_does_not_keep_another_waiting() {
        let mut due: Vec<RunCandidate> = (0..100).map(|at| candidate(at, "many", &at.to_string(), at)).collect();
        due.push(candidate(900, "one", "x", 5_000));
        let chosen = choose(due, &[], &rooms(&[("many", 16), ("one", 4)]), 4);
        assert!(chosen.contains(&900), "{chosen:?}");
        assert_eq!(chosen, [0, 900, 1, 2], "the oldest first, one of each, then the rest in order");
    }

    #[test]
    fn one_key_runs_once_at_a_time() {
        let due = vec![candidate(1, "h", "a", 1), candidate(2, "h", "a", 2), candidate(3, "h", "b", 3)];
        assert_eq!(choose(due.clone(), &[], &rooms(&[("h", 4)]), 16), [1, 3]);
        let running = [("h".to_owned(), "a".to_owned())];
        assert_eq!(choose(due, &running, &rooms(&[("h", 4)]), 16), [3]);
    }

    #[test]
    fn a_hook_without_room_begins_nothing() {
        let due = vec![candidate(1, "gone", "a", 1), candidate(2, "rated", "a", 2), candidate(3, "rated", "b", 3)];
        let rooms = BTreeMap::from([("rated".to_owned(), HookRoom { concurrency: 4, allowance: 1 })]);
        assert_eq!(choose(due, &[], &rooms, 16), [2]);
    }

    proptest! {
        #[test]
        fn no_limit_is_ever_exceeded(
            due in prop::collection::vec((0_u8..4, 0_u8..6, 0_u64..50), 0..60),
            running in prop::collection::vec((0_u8..4, 10_u8..20), 0..8),
            limits in prop::collection::vec(0_u32..6, 4),
            cap in 0_u32..12,
        ) {
            let due: Vec<RunCandidate> = due.iter().enumerate()
                .map(|(at, (hook, subject, due))| candidate(at as u64, &hook.to_string(), &subject.to_string(), *due))
                .collect();
            let running: Vec<(String, String)> =
                running.iter().map(|(hook, subject)| (hook.to_string(), subject.to_string())).collect();
            let names: Vec<String> = (0..4).map(|hook| hook.to_string()).collect();
            let limits: Vec<(&str, u32)> = names.iter().map(String::as_str).zip(limits).collect();
            let chosen = choose(due.clone(), &running, &rooms(&limits), cap);
            prop_assert!(chosen.len() <= (cap as usize).saturating_sub(running.len()));
            let picked: Vec<&RunCandidate> = due.iter().filter(|one| chosen.contains(&one.number)).collect();
            for (hook, concurrency) in limits {
                let before = running.iter().filter(|(name, _)| name == hook).count();
                let now = picked.iter().filter(|one| one.hook == hook).count();
                prop_assert!(now == 0 || before + now <= concurrency as usize);
            }
            let keys: BTreeSet<(&str, &str)> = picked.iter().map(|one| (&*one.hook, &*one.subject)).collect();
            prop_assert_eq!(keys.len(), picked.len());
        }
    }
}
