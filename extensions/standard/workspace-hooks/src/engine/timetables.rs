//! When scheduled hooks are due. Times that passed while nothing ran are not made up for.

use crate::contract::{Hook, HookSet, Trigger};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Finds the first time of a table behind a moment, in Unix milliseconds.
pub(crate) type NextAfter = Arc<dyn Fn(&str, u64) -> Option<u64> + Send + Sync>;

/// What is later than this was missed: the machine slept, or the program did not run.
const LATE_MS: u64 = 60_000;

/// A time that came.
#[derive(Clone, Debug)]
pub(crate) struct DueHook {
    pub(crate) hook: Arc<Hook>,
    pub(crate) at_ms: u64,
}

/// The next time of each scheduled hook of a workspace.
#[derive(Default)]
pub(crate) struct Timetables {
    next: BTreeMap<String, (String, Option<u64>)>,
}

/// What came since the last look.
#[derive(Debug, Default)]
pub(crate) struct DueHooks {
    pub(crate) due: Vec<DueHook>,
    /// Times that came too long ago.
    pub(crate) missed: Vec<DueHook>,
}

impl Timetables {
    /// What came until now. A time comes again until it is [`Timetables::done`].
    pub(crate) fn come(&mut self, set: &HookSet, now_ms: u64, next_after: &NextAfter) -> DueHooks {
        let tables = |hook: &&Arc<Hook>| hook.trigger == Trigger::Schedule && hook.enabled && hook.schedule.is_some();
        let hooks: Vec<&Arc<Hook>> = set.hooks.iter().filter(tables).collect();
        self.next.retain(|id, _| hooks.iter().any(|hook| hook.id == *id));
        let mut come = DueHooks::default();
        for hook in hooks {
            let Some(table) = &hook.schedule else { continue };
            let known = self.next.entry(hook.id.clone()).or_insert_with(|| (String::new(), None));
            if known.0 != *table {
                *known = (table.clone(), next_after(table, now_ms));
            }
            let Some(at_ms) = known.1.filter(|at_ms| *at_ms <= now_ms) else { continue };
            let due = DueHook { hook: Arc::clone(hook), at_ms };
            if now_ms - at_ms > LATE_MS {
                known.1 = next_after(table, now_ms);
                come.missed.push(due);
            } else {
                come.due.push(due);
            }
        }
        come
    }

    /// A time was dealt with.
    pub(crate) fn done(&mut self, due: &DueHook, next_after: &NextAfter) {
        if let Some((table, next)) = self.next.get_mut(&due.hook.id) {
            *next = next_after(table, due.at_ms);
        }
    }

    /// The next time of all.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.next.values().filter_map(|(_, next)| *next).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::hooks::hook;

    fn every_minute() -> NextAfter {
        Arc::new(|_, now_ms| Some((now_ms / 60_000 + 1) * 60_000))
    }

    fn set(schedule: &str) -> HookSet {
        let mut hook = hook("nightly");
        hook.trigger = Trigger::Schedule;
        hook.schedule = Some(schedule.to_owned());
        HookSet { hooks: vec![Arc::new(hook)], ..HookSet::default() }
    }

    #[test]
    fn each_time_comes_once_it_is_there_and_goes_once_it_is_done() {
        let (set, next_after) = (set("* * * * *"), every_minute());
        let mut tables = Timetables::default();
        assert!(tables.come(&set, 30_000, &next_after).due.is_empty());
        assert_eq!(tables.next_ms(), Some(60_000));
        let come = tables.come(&set, 60_010, &next_after);
        assert_eq!(come.due.iter().map(|due| due.at_ms).collect::<Vec<_>>(), [60_000]);
        assert_eq!(tables.come(&set, 60_020, &next_after).due.len(), 1, "not done yet");
        tables.done(&come.due[0], &next_after);
        assert!(tables.come(&set, 60_030, &next_after).due.is_empty());
        assert_eq!(tables.next_ms(), Some(120_000));
    }

    #[test]
    fn what_was_slept_through_is_missed_and_said_so() {
        let (set, next_after) = (set("* * * * *"), every_minute());
        let mut tables = Timetables::default();
        tables.come(&set, 30_000, &next_after);
        let come = tables.come(&set, 3_600_000, &next_after);
        assert!(come.due.is_empty());
        assert_eq!(come.missed.len(), 1);
        assert_eq!(tables.next_ms(), Some(3_660_000));
    }

    #[test]
    fn a_changed_table_counts_from_now() {
        let next_after: NextAfter = Arc::new(|table, now_ms| (table != "never").then_some(now_ms + 1_000));
        let mut tables = Timetables::default();
        tables.come(&set("first"), 0, &next_after);
        assert!(tables.come(&set("second"), 5_000, &next_after).due.is_empty());
        assert_eq!(tables.next_ms(), Some(6_000));
        tables.come(&set("never"), 5_000, &next_after);
        assert_eq!(tables.next_ms(), None);
        tables.come(&HookSet::default(), 5_000, &next_after);
        assert_eq!(tables.next_ms(), None);
    }
}
